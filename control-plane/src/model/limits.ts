/** The bounds of what operators may write, each with its unit. Reaching one gives 400 with the field. */
export const limits = Object.freeze({
  nameCharactersMax: 63,
  hostCharactersMax: 253,
  hostsMax: 1_000,
  pathsMax: 1_000,
  regexesMax: 100,
  methodsMax: 50,
  rangesMax: 1_000,
  entryPointsMax: 100,
  serversMax: 1_000,
  healthResultsMax: 100,
  serverWeightMax: 1_000,
  idleConnectionsMax: 10_000,
  connectionsMax: 1_000_000,
  queueMax: 100_000,
  timeoutMsMax: 86_400_000,
  logsPerSecondMax: 1_000,
  labelsMax: 32,
  labelKeyCharactersMax: 63,
  labelValueCharactersMax: 255,
  textCharactersMax: 2_048,
  pemCharactersMax: 262_144,
  /** Of the versions that are kept, how many are kept whatever their age. */
  versionsAlwaysKept: 50,
  versionsKeptMax: 1_000_000,
  versionDaysMax: 36_500,
  draftsMax: 100,
  messageCharactersMax: 500,
  resourcesPerApplyMax: 50_000,
  /** References to nothing for which a name that is close is looked for, in one answer. */
  closeNamesMax: 20,
  /** Problems in one answer; what is more is cut off. */
  problemsMax: 200,
  /** Of one publish or write in the audit log; what is more is counted. */
  auditChangesMax: 100,
  auditDaysMax: 36_500,
  auditFieldsMax: 50,
  /** Of the JSON of one value. */
  auditValueCharactersMax: 500,
  certificateWarningDays: 14,
})

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
  serverWeightMax: 1_000,
  idleConnectionsMax: 10_000,
  timeoutMsMax: 86_400_000,
  logsPerSecondMax: 1_000,
  textCharactersMax: 2_048,
  pemCharactersMax: 262_144,
  messageCharactersMax: 500,
  resourcesPerApplyMax: 50_000,
  /** Problems in one answer; what is more is cut off. */
  problemsMax: 200,
  certificateWarningDays: 14,
})

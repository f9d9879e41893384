/** Every bound of the fleet server. Times are apart, since tests shorten them. */
import assert from 'node:assert/strict'

export const fleetLimits = Object.freeze({
  requestBytesMax: 4 * 1_048_576,
  answerBytesMax: 64 * 1_048_576,
  /** Calls that one connection may have open; a node needs two. */
  callsPerConnectionMax: 16,

  nodeNameCharactersMax: 63,
  tokenCharactersMax: 200,
  joinTokensMax: 1_000,
  joinTokenUsesMax: 1_000,
  joinTokenSecondsMax: 30 * 86_400,
  /** How long an expired token is kept to be able to say so. */
  joinTokenRememberedMs: 7 * 86_400_000,

  /** How often an open stage is looked at, and how long its nodes may take to apply the version. */
  stageLookMs: 500,
  stageApplyMs: 60_000,
  stagesShownMax: 50,

  bootIdCharactersMax: 64,
  softwareVersionCharactersMax: 64,
  featuresMax: 64,
  featureCharactersMax: 64,
  workersMax: 1_024,
  problemsMax: 100,
  drainingObjectsMax: 1_000,
  problemCharactersMax: 500,
  detailsCharactersMax: 1_000,
  /** Updates of one session whose late answers are still known. */
  sentUpdatesMax: 16,

  /** Resources of all views together that a delta can start from: some 100 bytes of memory each. */
  baseEntriesMax: 250_000,
  /** An update from this size on waits until the large ones before it have gone out. */
  largeUpdateBytes: 65_536,
  largeBytesInFlightMax: 4 * 1_048_576,
  /** After this, a large update that a slow node still takes no longer holds back others. */
  largeTurnMs: 5_000,
  /** Sessions that are offered a new version before other work has its turn. */
  offersPerTurn: 25,
  /** Wishes for more log lines at one time. */
  logRaisesMax: 100,
  /** All encoded updates that are kept to be sent to more nodes. */
  frameBytesMax: 64 * 1_048_576,

  /** Encoded bytes of the reports that are decoded and not stored yet; the others wait as bytes. */
  reportBytesDecodedMax: 1_048_576,

  /** Streams of nodes per second and at once, so that a whole fleet that comes back does not stall us. */
  admittedPerSecond: 400,
  admittedBurst: 400,
  admissionsWaitingMax: 10_000,
  enrolmentsPerSecond: 100,
  enrolmentsBurst: 200,
})

export interface FleetTimings {
  readonly helloDueMs: number
  readonly pingIntervalMs: number
  readonly pongDueMs: number
  /** How long the session of a node may take to prove itself alive when another one claims its place. */
  readonly aliveCheckMs: number
  /** After this, an update without an answer no longer holds back the one after it. */
  readonly answerDueMs: number
  readonly smallWriteMs: number
  readonly updateWriteMs: number
  /** From the polite end of a stream to its reset. */
  readonly endGraceMs: number
  readonly lastSeenSavedMs: number
  readonly handshakeMs: number
  readonly idleConnectionMs: number
  readonly stopGraceMs: number
}

export const fleetTimings: FleetTimings = Object.freeze({
  helloDueMs: 10_000,
  pingIntervalMs: 10_000,
  pongDueMs: 10_000,
  aliveCheckMs: 2_000,
  answerDueMs: 30_000,
  smallWriteMs: 10_000,
  updateWriteMs: 60_000,
  endGraceMs: 1_000,
  lastSeenSavedMs: 60_000,
  // As long as grpc-js tries at the nodes: when thousands come at once, what is cut off earlier was in vain.
  handshakeMs: 20_000,
  idleConnectionMs: 60_000,
  stopGraceMs: 1_500,
})

assert(fleetTimings.endGraceMs < 2_000, 'a revoked node is cut off within two seconds')
assert(
  fleetTimings.pongDueMs <= fleetTimings.pingIntervalMs,
  'one ping is answered before the next one leaves',
)

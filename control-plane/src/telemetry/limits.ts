/** Every bound of what nodes may send, what is kept and what may be asked. */
import assert from 'node:assert/strict'

const minuteMs = 60_000
const dayMs = 86_400_000

export const telemetryLimits = Object.freeze({
  /** Rows of one counter batch and lines of one log batch. */
  rowsPerBatchMax: 32_768,
  linesPerBatchMax: 10_000,
  /** One count or sum in a batch: sums of thousands of such batches stay exact. */
  countMax: 2n ** 40n,
  sumMax: 2n ** 50n,
  nameCharactersMax: 63,
  bootIdCharactersMax: 64,
  /** Longer text of a log line is cut. */
  pathCharactersMax: 2_048,
  textCharactersMax: 512,
  /** How far a node's clock may be ahead of ours. */
  aheadMsMax: dayMs,

  /** Batches that wait to be stored, over all nodes; more are refused until some are. */
  waitingBatchesMax: 4_096,
  /** How long a batch waits for others to share its transaction. */
  gatherMs: 50,
  /** Batches and rows stored in one transaction. */
  batchesPerTransactionMax: 64,
  rowsPerTransactionMax: 32_768,
  /** Rows per statement; between statements the event loop gets a turn. */
  rowsPerStatement: 250,

  trafficAgeMsMax: 31 * dayMs,
  trafficRowsMax: 20_000_000,
  /** How long sums of minutes, hours and days are kept. */
  minuteSumsAgeMsMax: 3 * dayMs,
  hourSumsAgeMsMax: 62 * dayMs,
  daySumsAgeMsMax: 800 * dayMs,
  logAgeMsMax: 7 * dayMs,
  logLinesMax: 1_000_000,
  /** A node that is away for longer than this may have its oldest batches counted again. */
  batchAgeMsMax: 90 * dayMs,
  bootsPerNodeMax: 1_000,
  retentionIntervalMs: minuteMs,
  rowsPerRemoval: 500,

  /** Points of one traffic answer, over all series. */
  pointsMax: 100_000,
  rowsPerRead: 1_000,
  percentilesMax: 8,
  heatmapColumnsMax: 2_000,
  namesPerFilterMax: 100,
  logItemsMax: 1_000,
  linesPerScan: 5_000,
  /** Lines that a follower gets at once; more that came meanwhile are left out and counted. */
  linesPerFeedMax: 2_000,
  followersMax: 16,
})

assert(
  telemetryLimits.trafficAgeMsMax < telemetryLimits.batchAgeMsMax,
  'what makes batches count once outlives what they count',
)
assert(
  telemetryLimits.minuteSumsAgeMsMax < telemetryLimits.hourSumsAgeMsMax &&
    telemetryLimits.hourSumsAgeMsMax < telemetryLimits.daySumsAgeMsMax,
  'coarser sums outlive finer ones',
)
assert(
  telemetryLimits.rowsPerBatchMax <= telemetryLimits.rowsPerTransactionMax,
  'every batch fits into a transaction',
)

/** Every bound of the supervisor: unit in the name, relation to its neighbours checked when it loads. */
import assert from 'node:assert/strict'

export const limits = Object.freeze({
  // Workers.
  workersMax: 256,
  workerStartTimeoutMs: 15_000,
  workerApplyTimeoutMs: 30_000,
  workerListenTimeoutMs: 5_000,
  /** Copies of a listening handle in a worker: libuv takes one connection from each in a turn of its loop. */
  acceptsPerTurn: 8,
  /** Beyond the drain grace, before a worker is killed. */
  workerExitTimeoutMs: 2_000,
  /** A worker that dies sooner than this after its start counts towards the back-off. */
  workerQuickDeathMs: 5_000,
  workerRestartBaseMs: 100,
  workerRestartCapMs: 5_000,
  /** How long a key seals new TLS session tickets. */
  ticketKeyMs: 60 * 60 * 1000,
  /** With the newest; a ticket is good for 5 minutes, Node's default. */
  ticketKeysKept: 2,

  // Versions.
  addressLookupTimeoutMs: 2_000,
  applyRetryMs: 1_000,
  /** Between tries to write the running version to a disk that does not take it. */
  storeRetryMs: 5_000,
  /** How long a node that starts with a stored version waits for it before it tells what it runs. */
  storedVersionFirstMs: 10_000,
  /** Of one version, told to the control plane. The first ones say enough. */
  problemsReportedMax: 100,

  // The link to the control plane.
  connectTimeoutMs: 5_000,
  enrolTimeoutMs: 10_000,
  reconnectBaseMs: 200,
  reconnectCapMs: 2_000,
  /** What "in sync again" may take once the control plane is back. */
  backInSyncMs: 5_000,
  refusedRetryMs: 30_000,
  streamEndTimeoutMs: 1_000,
  /** A session that is neither answered nor refused for this long counts as taken. */
  sessionSilentMs: 1_000,
  keepaliveTimeMs: 10_000,
  keepaliveTimeoutMs: 5_000,
  updateBytesMax: 64 * 1024 * 1024,
  requestBytesMax: 4 * 1024 * 1024,
  renewalRetryMs: 60_000,
  /** The longest timer that is armed at once: setTimeout takes at most 2^31-1 ms. */
  timerMaxMs: 24 * 60 * 60 * 1000,

  // Telemetry.
  tickMs: 1_000,
  /** The tick comes this long after the whole second, when the workers' reports of it are in. */
  tickOffsetMs: 250,
  /** Rows of counters kept while the control plane is away; then time and names are made coarser. */
  trafficRowsMax: 20_000,
  batchBytesMax: 1024 * 1024,
  acknowledgementTimeoutMs: 15_000,
  flushTimeoutMs: 3_000,
  /** The spool is written at most this share of the time: a slow disk gets fewer writes. */
  spoolTimeShare: 0.05,
  spoolFileBytesMax: 64 * 1024 * 1024,

  // Request logs.
  logLinesPerSecondMax: 1_000,
  logRaiseMaxMs: 3_600_000,
  logLinesQueuedMax: 5_000,
  logBytesQueuedMax: 16 * 1024 * 1024,
  logBatchesStoredMax: 1_000,
  logSecondOpenMaxMs: 2_000,
  logSecondsOpenMax: 16,

  // The status endpoint.
  statusRequestTimeoutMs: 5_000,
  statusConnectionsMax: 64,
  metricSeriesMax: 20_000,
})

assert(
  limits.reconnectCapMs + limits.streamEndTimeoutMs < limits.backInSyncMs,
  'a node dials again soon enough to be in sync in time',
)
assert(limits.keepaliveTimeoutMs < limits.keepaliveTimeMs, 'a ping is answered before the next')
assert(
  2 * limits.batchBytesMax < limits.requestBytesMax,
  'a batch that is one row over its size still fits a request',
)
assert(
  limits.flushTimeoutMs < limits.acknowledgementTimeoutMs,
  'a stop does not wait for a lost answer',
)
assert(limits.timerMaxMs < 2 ** 31, 'setTimeout would fire at once')
assert(
  limits.logLinesPerSecondMax <= limits.logLinesQueuedMax,
  'one second of lines fits the queue',
)

/** The bounds of the admin API's connections. Those of its content: model/limits.ts. */
import assert from 'node:assert'

export const apiLimits = Object.freeze({
  bodyBytesMax: 4_194_304,
  /** Of an import, which holds everything at once. */
  importBytesMax: 67_108_864,
  /** Browsers that listen to events at the same time; more get 429. */
  eventReadersMax: 64,
  eventHeartbeatMs: 15_000,
  /** Changes that come faster are told together. */
  eventGatherMs: 250,
  /** How often readers are told to ask for traffic again. */
  trafficTickMs: 5_000,
  /** A reader then has to come back, and with it its credentials are looked at again. */
  eventStreamMs: 3_600_000,
  passphraseCharactersMin: 8,
  passphraseCharactersMax: 1_024,
  headTimeoutMs: 10_000,
  /** From a request's first byte to its last. */
  requestTimeoutMs: 30_000,
  keepAliveTimeoutMs: 30_000,
  parameterCharactersMax: 255,
  idempotencyKeyCharactersMax: 255,
  idempotencyKeysMax: 10_000,
  idempotencyKeyAgeMs: 86_400_000,
  /** Differences of resources in one answer; what is more is counted and left out. */
  differencesMax: 1_000,
  raisedLinesPerSecondMax: 1_000,
  raiseSecondsMax: 3_600,
  /** A follower hears from us at least this often. */
  heartbeatMs: 15_000,
  /** How long open requests may take to end when the server stops. */
  stopGraceMs: 1_000,
})

assert(apiLimits.headTimeoutMs < apiLimits.requestTimeoutMs, 'a head is due before its body is')

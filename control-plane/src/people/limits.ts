/** The bounds of what people and their sign-ins may take. */
import assert from 'node:assert'

export const peopleLimits = Object.freeze({
  usersMax: 1_000,
  passwordCharactersMin: 12,
  passwordCharactersMax: 1_024,
  /** That a user gets with a second factor. */
  recoveryCodes: 10,
  /** Each takes 32 MiB and a core while it is made. */
  hashesAtOnceMax: 2,
  /** More sign-ins are answered 429. */
  hashesWaitingMax: 32,
  /** Wrong sign-ins by one user before the next ones have to wait. */
  userFailuresFree: 5,
  /** Short, since anybody can make a user wait. */
  userDelayMsMax: 60_000,
  addressFailuresFree: 20,
  addressDelayMsMax: 900_000,
  /** The first delay; each one after it is twice as long. */
  signInDelayMs: 1_000,
  signInFailuresKeptMs: 3_600_000,
  /** Users and addresses whose failures are known. */
  signInFailuresMax: 10_000,
  /** From sign-in; then a browser has to sign in again, however busy it is. */
  sessionAgeMs: 604_800_000,
  /** Without a request. */
  sessionIdleMs: 43_200_000,
  /** How exactly the last use of a session or an API token is known. */
  usedSavedMs: 60_000,
  /** Older rows than these are removed, whatever their age. */
  auditRowsMax: 1_000_000,
  /** Read at once; between, others have their turn. */
  auditRowsPerRead: 1_000,
  /** Refusals of whoever is not known that the audit log keeps. */
  refusalsPerSecond: 1,
  refusalsBurst: 100,
  apiTokensMax: 1_000,
  apiTokenSecondsMax: 315_360_000,
  /** Of one token. */
  scopesMax: 20,
  /** More sign out whoever signed in first. */
  sessionsMax: 1_000,
})

assert(peopleLimits.usedSavedMs < peopleLimits.sessionIdleMs, 'use is saved before it is idleness')
assert(
  peopleLimits.addressDelayMsMax < peopleLimits.signInFailuresKeptMs,
  'a failure is not forgotten while it delays',
)
assert(peopleLimits.sessionIdleMs < peopleLimits.sessionAgeMs, 'idleness ends a session early')

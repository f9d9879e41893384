/**
 * Makes guessing slow: after some wrong sign-ins the next ones by the same user, or from the same address, have to
 * wait, each time twice as long. In memory only, for a bounded number of both; who was wrong last is kept longest.
 */
import { isIPv6 } from 'node:net'
import { peopleLimits } from './limits.ts'

export interface SignInAttempt {
  readonly user: string
  readonly address: string
}

interface Failures {
  readonly count: number
  readonly lastMs: number
}

interface Patience {
  readonly freeFailures: number
  readonly delayMsMax: number
}

export class SignInThrottle {
  readonly #now: () => number
  readonly #failures = new Map<string, Failures>()

  constructor(now: () => number) {
    this.#now = now
  }

  /**
   * How long the attempt has to wait; 0: it may go on, and counts as failed until `succeeded`, so that many at the
   * same time are not judged by what was known before all of them.
   */
  begin(attempt: SignInAttempt): number {
    const keys = keysOf(attempt)
    const waitMs = Math.max(...keys.map(([key, patience]) => this.#waitMs(key, patience)))
    if (waitMs > 0) return waitMs
    for (const [key] of keys) this.#set(key, (this.#find(key)?.count ?? 0) + 1)
    return 0
  }

  succeeded(attempt: SignInAttempt): void {
    const [[user], [address]] = keysOf(attempt)
    this.#failures.delete(user)
    // Not forgotten: else whoever has one password could guess those of others without end.
    this.#set(address, (this.#find(address)?.count ?? 1) - 1)
  }

  #waitMs(key: string, { freeFailures, delayMsMax }: Patience): number {
    const failures = this.#find(key)
    if (failures === undefined || failures.count < freeFailures) return 0
    const doubled = peopleLimits.signInDelayMs * 2 ** (failures.count - freeFailures)
    return Math.max(0, failures.lastMs + Math.min(doubled, delayMsMax) - this.#now())
  }

  #find(key: string): Failures | undefined {
    const failures = this.#failures.get(key)
    const isOld = (failures?.lastMs ?? 0) + peopleLimits.signInFailuresKeptMs <= this.#now()
    return isOld ? undefined : failures
  }

  #set(key: string, count: number): void {
    this.#failures.delete(key)
    if (count <= 0) return
    this.#failures.set(key, { count, lastMs: this.#now() })
    const [oldest] = this.#failures.keys()
    if (this.#failures.size > peopleLimits.signInFailuresMax && oldest !== undefined) {
      this.#failures.delete(oldest)
    }
  }
}

function keysOf({ user, address }: SignInAttempt) {
  const { userFailuresFree, userDelayMsMax, addressFailuresFree, addressDelayMsMax } = peopleLimits
  return [
    [`user ${user}`, { freeFailures: userFailuresFree, delayMsMax: userDelayMsMax }],
    [
      `address ${networkOf(address)}`,
      { freeFailures: addressFailuresFree, delayMsMax: addressDelayMsMax },
    ],
  ] as const
}

/** One machine has all addresses of an IPv6 /64. */
function networkOf(address: string): string {
  if (!isIPv6(address)) return address
  const [, mapped] = /^::ffff:([\d.]+)$/i.exec(address) ?? []
  if (mapped !== undefined) return mapped
  const [head = '', tail] = address.split('::')
  const groups = head.split(':').filter((group) => group !== '')
  const missing = tail === undefined ? 0 : 8 - groups.length - tail.split(':').length
  const whole = [...groups, ...Array.from({ length: Math.max(0, missing) }, () => '0')]
  return whole.slice(0, 4).join(':')
}

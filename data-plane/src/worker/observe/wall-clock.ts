/**
 * The time of day that exchanges and counts are dated with. Between two looks at the system's clock it goes by
 * the monotonic one, so what ends later is never dated earlier; a system clock that was set is followed.
 */

/** A clock that is only slewed never gets so far away between two looks. */
const FOLLOWED_FROM_MS = 500

export class WallClock {
  readonly #monotonicMs: () => number
  readonly #systemMs: () => number
  #originMs: number

  constructor(monotonicMs = () => performance.now(), systemMs = () => Date.now()) {
    this.#monotonicMs = monotonicMs
    this.#systemMs = systemMs
    this.#originMs = systemMs() - monotonicMs()
  }

  now(): number {
    return this.at(this.#monotonicMs())
  }

  /** The time of day at a moment of the monotonic clock. */
  at(monotonicMs: number): number {
    return this.#originMs + monotonicMs
  }

  /** Looks at the system's clock. */
  follow(): void {
    const originMs = this.#systemMs() - this.#monotonicMs()
    if (Math.abs(originMs - this.#originMs) >= FOLLOWED_FROM_MS) this.#originMs = originMs
  }
}

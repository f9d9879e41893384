/** Waits between attempts: exponential with full jitter, so that a fleet does not come back in step. */
import { limits } from '../limits.ts'

export class BackOff {
  readonly #random: () => number
  #attempts = 0

  constructor(random: () => number = Math.random) {
    this.#random = random
  }

  nextDelayMs(): number {
    const ceiling = Math.min(limits.reconnectCapMs, limits.reconnectBaseMs * 2 ** this.#attempts)
    // Past the cap more attempts change nothing, and the power would grow without bound.
    if (ceiling < limits.reconnectCapMs) this.#attempts += 1
    return this.#random() * ceiling
  }

  /** For a refusal that waiting will hardly change: between the half and the whole of the long wait. */
  refusedDelayMs(): number {
    return limits.refusedRetryMs * (0.5 + this.#random() / 2)
  }

  reset(): void {
    this.#attempts = 0
  }
}

/** Lets through a steady rate with bursts. What does not get through is told so at once; nothing waits. */
export class TokenBucket {
  readonly #perSecond: number
  readonly #burst: number
  readonly #now: () => number
  #level: number
  #filledAtMs: number

  constructor(options: {
    readonly perSecond: number
    readonly burst: number
    readonly now: () => number
  }) {
    this.#perSecond = options.perSecond
    this.#burst = options.burst
    this.#now = options.now
    this.#level = options.burst
    this.#filledAtMs = options.now()
  }

  take(): boolean {
    const nowMs = this.#now()
    // A clock that was set back must not drain the bucket.
    const passedMs = Math.max(0, nowMs - this.#filledAtMs)
    this.#filledAtMs = nowMs
    this.#level = Math.min(this.#burst, this.#level + (passedMs / 1_000) * this.#perSecond)
    if (this.#level < 1) {
      return false
    }
    this.#level -= 1
    return true
  }
}

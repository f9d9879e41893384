/**
 * Bounds the bytes of large updates that are on their way at once: each connection holds its own copy until
 * the network has taken it. Sessions wait their turn; a slow node keeps its share of the budget only for a
 * while, so it never holds up another.
 */
export interface LargeUpdatesLimits {
  readonly largeBytesInFlightMax: number
  readonly largeTurnMs: number
}

interface Waiter {
  readonly bytes: number
  readonly go: (leave: () => void) => void
}

export class LargeUpdates {
  readonly #limits: LargeUpdatesLimits
  readonly #waiting: Waiter[] = []
  #bytes = 0

  constructor(limits: LargeUpdatesLimits) {
    this.#limits = limits
  }

  /** Calls `go` when it is its turn, at once where there is room. What it gets ends the turn. */
  enter(bytes: number, go: (leave: () => void) => void): void {
    this.#waiting.push({ bytes, go })
    this.#admit()
  }

  #admit(): void {
    for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[0]) {
      // One that is larger than the budget goes alone.
      const fits =
        this.#bytes === 0 || this.#bytes + next.bytes <= this.#limits.largeBytesInFlightMax
      if (!fits) return
      this.#waiting.shift()
      this.#bytes += next.bytes
      next.go(this.#turnOf(next.bytes))
    }
  }

  #turnOf(bytes: number): () => void {
    let isOver = false
    const leave = () => {
      if (isOver) return
      isOver = true
      clearTimeout(timer)
      this.#bytes -= bytes
      this.#admit()
    }
    const timer = setTimeout(leave, this.#limits.largeTurnMs)
    timer.unref()
    return leave
  }
}

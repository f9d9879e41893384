/**
 * Bounds the bytes of large updates that are on their way at once: each connection holds its own copy until
 * the network has taken it. Sessions wait their turn; a slow node keeps its share of the budget only for a
 * while, so it never holds up another.
 */
import { ByteBudget } from './byte-budget.ts'

export interface LargeUpdatesLimits {
  readonly largeBytesInFlightMax: number
  readonly largeTurnMs: number
}

export class LargeUpdates {
  readonly #turnMs: number
  readonly #budget: ByteBudget

  constructor({ largeBytesInFlightMax, largeTurnMs }: LargeUpdatesLimits) {
    this.#turnMs = largeTurnMs
    this.#budget = new ByteBudget(largeBytesInFlightMax)
  }

  /** Calls `go` when it is its turn, at once where there is room. What it gets ends the turn. */
  enter(bytes: number, go: (leave: () => void) => void): void {
    this.#budget.enter(bytes, (leave) => {
      const timer = setTimeout(leave, this.#turnMs)
      timer.unref()
      go(() => {
        clearTimeout(timer)
        leave()
      })
    })
  }
}

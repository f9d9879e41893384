/**
 * Bounds the bytes that are worked on at once. Who asks waits in order; one that is larger than the whole
 * budget goes alone.
 */
interface Waiter {
  readonly bytes: number
  readonly go: (leave: () => void) => void
}

export class ByteBudget {
  readonly #bytesMax: number
  readonly #waiting: Waiter[] = []
  #bytes = 0

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  /** Calls `go` when it is its turn, at once where there is room. What it gets ends the turn. */
  enter(bytes: number, go: (leave: () => void) => void): void {
    this.#waiting.push({ bytes, go })
    this.#admit()
  }

  #admit(): void {
    for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[0]) {
      const fits = this.#bytes === 0 || this.#bytes + next.bytes <= this.#bytesMax
      if (!fits) return
      this.#waiting.shift()
      this.#bytes += next.bytes
      next.go(this.#turnOf(next.bytes))
    }
  }

  #turnOf(bytes: number): () => void {
    let isOver = false
    return () => {
      if (isOver) return
      isOver = true
      this.#bytes -= bytes
      this.#admit()
    }
  }
}

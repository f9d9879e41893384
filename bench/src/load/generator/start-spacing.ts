/** How evenly requests start: milliseconds by how many starts they had. Hot: start. */

/** More starts than this in one millisecond are counted as this many. */
const STARTS_MAX = 512

export class StartSpacing {
  readonly #milliseconds = new Float64Array(STARTS_MAX + 1)
  #millisecond = -1
  #starts = 0
  #total = 0

  start(us: number): void {
    const millisecond = Math.floor(us / 1000)
    if (millisecond !== this.#millisecond) this.#close(millisecond)
    this.#starts += 1
    this.#total += 1
  }

  /** Entry k: milliseconds with k starts, over the whole span. */
  histogram(spanSeconds: number): number[] {
    const occupied = this.#withLast()
    const count = occupied.reduce((sum, value) => sum + value, 0)
    occupied[0] = Math.max(0, Math.round(spanSeconds * 1000) - count)
    return occupied.slice(0, occupied.findLastIndex((value) => value > 0) + 1)
  }

  /** 1: as even as whole milliseconds can tell; the number of connections: all at once. */
  burstIndex(spanSeconds: number): number {
    const count = this.#withLast().reduce((sum, value) => sum + value, 0)
    if (count === 0 || spanSeconds <= 0) return 0
    return this.#total / count / Math.max(1, this.#total / (spanSeconds * 1000))
  }

  #close(next: number): void {
    if (this.#starts > 0) {
      const starts = Math.min(this.#starts, STARTS_MAX)
      this.#milliseconds[starts] = (this.#milliseconds[starts] ?? 0) + 1
    }
    this.#millisecond = next
    this.#starts = 0
  }

  #withLast(): number[] {
    const all = Array.from(this.#milliseconds)
    const starts = Math.min(this.#starts, STARTS_MAX)
    if (starts > 0) all[starts] = (all[starts] ?? 0) + 1
    return all
  }
}

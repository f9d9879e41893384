/** A seeded source of choices: the same seed gives the same run. */
export class Random {
  #state: number

  constructor(seed: number) {
    this.#state = Math.imul(seed ^ 0x5bf03635, 0x9e3779b1) | 0
    for (let round = 0; round < 4; round += 1) this.#next()
  }

  /** Uniform in [0, 1). */
  readonly fraction = (): number => this.#next() / 2 ** 32

  /** A whole number in [from, to]. */
  between(from: number, to: number): number {
    return from + Math.floor(this.fraction() * (to - from + 1))
  }

  chance(probability: number): boolean {
    return this.fraction() < probability
  }

  pick<T>(choices: readonly T[]): T {
    return choices[this.between(0, choices.length - 1)] as T
  }

  /** Mostly small, now and then as large as `most`. */
  skewed(most: number): number {
    return Math.floor(most * this.fraction() ** 4)
  }

  /** A Weyl sequence, mixed: every seed walks all 2^32 states. */
  #next(): number {
    this.#state = (this.#state + 0x9e3779b9) | 0
    let mixed = this.#state
    mixed = Math.imul(mixed ^ (mixed >>> 16), 0x21f0aaad)
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97)
    return (mixed ^ (mixed >>> 15)) >>> 0
  }
}

/** Lanes without a request. Hot. */
import { NONE } from './backlog.ts'

/** First in, first out, so that all are used. */
export class FreeQueue {
  length = 0
  readonly #ring: Int32Array
  #first = 0

  constructor(lanes: number) {
    this.#ring = new Int32Array(lanes)
  }

  push(lane: number): void {
    const at = this.#first + this.length
    this.#ring[at < this.#ring.length ? at : at - this.#ring.length] = lane
    this.length += 1
  }

  shift(): number {
    if (this.length === 0) return NONE
    const lane = this.#ring[this.#first] ?? NONE
    this.#first = this.#first + 1 === this.#ring.length ? 0 : this.#first + 1
    this.length -= 1
    return lane
  }
}

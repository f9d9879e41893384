/**
 * Requests that are due, in the order of the schedule, until a connection takes them: one queue for all
 * connections (shared), or each request for its own (static: request n belongs to connection n mod C).
 * Queues are numbers, since requests are. Hot.
 */
export const NONE = -1

export class Backlog {
  /** Requests that were released so far: 0 up to this one. */
  released = 0
  readonly #lanes: number
  readonly #isShared: boolean
  /** How late each request was released, in µs; a schedule of some millions fits. */
  readonly #lagUs: Float32Array
  /** The next request that has not been taken, in all or of each connection. */
  #next = 0
  readonly #nextOf: Float64Array

  constructor(count: number, lanes: number, isShared: boolean) {
    this.#lanes = lanes
    this.#isShared = isShared
    this.#lagUs = new Float32Array(count)
    this.#nextOf = Float64Array.from({ length: isShared ? 0 : lanes }, (_, lane) => lane)
  }

  release(lagUs: number): void {
    this.#lagUs[this.released] = lagUs
    this.released += 1
  }

  lagUs(request: number): number {
    return this.#lagUs[request] ?? 0
  }

  /** The request that this connection would take next, or NONE. */
  peek(lane: number): number {
    const next = this.#isShared ? this.#next : (this.#nextOf[lane] ?? this.released)
    return next < this.released ? next : NONE
  }

  take(lane: number): void {
    if (this.#isShared) this.#next += 1
    else this.#nextOf[lane] = (this.#nextOf[lane] ?? 0) + this.#lanes
  }

  /** What nobody took; empties it. */
  drain(onRequest: (request: number) => void): void {
    const lanes = this.#isShared ? 1 : this.#lanes
    for (let lane = 0; lane < lanes; lane += 1) {
      for (let next = this.peek(lane); next !== NONE; next = this.peek(lane)) {
        onRequest(next)
        this.take(lane)
      }
    }
  }
}

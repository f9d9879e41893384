/** Asks a node at intervals whether it is there, and on demand when another one claims its place. */
import { status } from '@grpc/grpc-js'
import { invalid } from './fleet-refusal.ts'
import type { FleetTimings } from './limits.ts'
import type { NodeStream } from './node-stream.ts'
import { encodeConfigure } from './service-definitions.ts'

export class Liveness {
  readonly #stream: Pick<NodeStream<unknown>, 'write' | 'end' | 'isWriting' | 'onClosed'>
  readonly #timings: FleetTimings
  /** What the node's clock shows at this moment. */
  readonly #onTime: (nodeTimeMs: number) => void
  #timer: NodeJS.Timeout | undefined
  #pongTimer: NodeJS.Timeout | undefined
  #lastId = 0n
  /** Of the last ping, by a clock that nobody sets. */
  #sentAtMs = 0
  #waiters: { readonly id: bigint; readonly settle: (isAlive: boolean) => void }[] = []

  constructor(
    stream: Pick<NodeStream<unknown>, 'write' | 'end' | 'isWriting' | 'onClosed'>,
    timings: FleetTimings,
    onTime: (nodeTimeMs: number) => void,
  ) {
    this.#onTime = onTime
    this.#stream = stream
    this.#timings = timings
  }

  start(): void {
    this.#timer = setInterval(() => this.#ask(), this.#timings.pingIntervalMs)
  }

  stop(): void {
    clearInterval(this.#timer)
    clearTimeout(this.#pongTimer)
    for (const waiter of this.#waiters.splice(0)) {
      waiter.settle(false)
    }
  }

  /** `timeMs`: what the node's clock showed; 0: it does not tell. */
  pong(id: bigint, timeMs: number): void {
    if (id < 1n || id > this.#lastId) {
      throw invalid(`pong: no ping had the id ${id}`)
    }
    // The clocks are compared at half the way there and back.
    const halfMs = (performance.now() - this.#sentAtMs) / 2
    if (id === this.#lastId && timeMs > 0) this.#onTime(timeMs + halfMs)
    clearTimeout(this.#pongTimer)
    this.#pongTimer = undefined
    const answered = this.#waiters.filter((waiter) => waiter.id <= id)
    this.#waiters = this.#waiters.filter((waiter) => waiter.id > id)
    for (const waiter of answered) {
      waiter.settle(true)
    }
  }

  /** Whether a ping sent now is answered within `aliveCheckMs`. */
  check(): Promise<boolean> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(false), this.#timings.aliveCheckMs)
      const settle = (isAlive: boolean) => {
        clearTimeout(timer)
        resolve(isAlive)
      }
      this.#waiters.push({ id: this.#ping(), settle })
    })
  }

  #ask(): void {
    // A large update on a slow link delays what is behind it; its own write has a deadline.
    if (this.#stream.isWriting || this.#pongTimer !== undefined) {
      return
    }
    this.#ping()
    this.#pongTimer = setTimeout(() => {
      const seconds = this.#timings.pongDueMs / 1_000
      this.#stream.end(status.UNAVAILABLE, `no pong came within ${seconds} s`)
    }, this.#timings.pongDueMs)
  }

  #ping(): bigint {
    this.#lastId += 1n
    this.#sentAtMs = performance.now()
    const bytes = encodeConfigure({ $case: 'ping', value: { id: this.#lastId } })
    // A failed write ends the stream by itself.
    void this.#stream.write(bytes, this.#timings.smallWriteMs)
    return this.#lastId
  }
}

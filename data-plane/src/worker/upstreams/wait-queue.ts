/**
 * The exchanges of one service that wait for a connection, first in, first out, bounded in number and time.
 * They leave at O(1) from anywhere in the queue, since clients leave in any order.
 */
import { type Deadline, type DeadlineSweep, NEVER } from '../deadline-sweep.ts'
import type { Gauges } from '../observe/gauges.ts'
import type { UpstreamConnection } from './upstream-connection.ts'
import type { UpstreamServer } from './upstream-server.ts'

export interface Waiter {
  /** A connection that became free, or undefined: the server may be dialled. */
  onTurn(server: UpstreamServer, connection: UpstreamConnection | undefined): void
  /** It waited too long, or there is no server any more that it could wait for. */
  onWaitOver(isTimeout: boolean): void
}

/** A place in the queue. */
export class Wait implements Deadline {
  deadlineAt = NEVER
  sweepIndex = -1
  before: Wait | undefined
  after: Wait | undefined
  readonly waiter: Waiter
  readonly #queue: WaitQueue

  constructor(queue: WaitQueue, waiter: Waiter) {
    this.#queue = queue
    this.waiter = waiter
  }

  leave(): void {
    this.#queue.remove(this)
  }

  onDeadline(): void {
    this.leave()
    this.waiter.onWaitOver(true)
  }
}

export class WaitQueue {
  /** Settings of the service; a change holds for those who join after it. */
  lengthMax = 0
  timeoutMs = 0
  readonly #deadlines: DeadlineSweep
  readonly #gauges: Gauges
  #first: Wait | undefined
  #last: Wait | undefined
  #length = 0

  constructor(deadlines: DeadlineSweep, gauges: Gauges) {
    this.#deadlines = deadlines
    this.#gauges = gauges
  }

  get isEmpty(): boolean {
    return this.#first === undefined
  }

  /** undefined: the queue is full. */
  join(waiter: Waiter): Wait | undefined {
    if (this.#length >= this.lengthMax) return undefined
    const wait = new Wait(this, waiter)
    wait.before = this.#last
    if (this.#last === undefined) this.#first = wait
    else this.#last.after = wait
    this.#last = wait
    this.#length += 1
    this.#gauges.exchangesWaiting += 1
    wait.deadlineAt = this.#deadlines.after(this.timeoutMs)
    this.#deadlines.add(wait)
    return wait
  }

  /** Takes out the one that waits longest. */
  shift(): Waiter | undefined {
    const first = this.#first
    if (first === undefined) return undefined
    this.remove(first)
    return first.waiter
  }

  remove(wait: Wait): void {
    // Only a place in the queue has a place in the sweep.
    if (wait.sweepIndex < 0) return
    this.#deadlines.remove(wait)
    if (wait.before === undefined) this.#first = wait.after
    else wait.before.after = wait.after
    if (wait.after === undefined) this.#last = wait.before
    else wait.after.before = wait.before
    wait.before = undefined
    wait.after = undefined
    this.#length -= 1
    this.#gauges.exchangesWaiting -= 1
  }

  /** There is nothing more to wait for. */
  dismissAll(): void {
    for (let waiter = this.shift(); waiter !== undefined; waiter = this.shift()) {
      waiter.onWaitOver(false)
    }
  }
}

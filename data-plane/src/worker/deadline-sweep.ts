/**
 * The time-outs of all connections of a worker: moving a deadline is one assignment, and one timer looks at
 * all of them every `limits.deadlineTickMs`. A deadline is thus met up to one tick late, never early.
 */
import { limits } from '../limits.ts'

export interface Deadline {
  /** By the sweep's clock; NEVER for none. Set with DeadlineSweep.after. */
  deadlineAt: number
  /** Place in the sweep, kept by it. */
  sweepIndex: number
  onDeadline(): void
}

export const NEVER = Number.POSITIVE_INFINITY

export class DeadlineSweep {
  readonly #entries: Deadline[] = []
  readonly #readClock: () => number
  #now: number
  #timer: NodeJS.Timeout | undefined

  /** `readClock`: monotonic milliseconds. */
  constructor(readClock: () => number) {
    this.#readClock = readClock
    this.#now = readClock()
  }

  start(): void {
    this.#timer = setInterval(() => this.sweep(), limits.deadlineTickMs)
    this.#timer.unref()
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  /** The clock as it was at the last sweep. */
  get now(): number {
    return this.#now
  }

  after(ms: number): number {
    return this.#now + ms + limits.deadlineTickMs
  }

  add(entry: Deadline): void {
    entry.sweepIndex = this.#entries.length
    this.#entries.push(entry)
  }

  remove(entry: Deadline): void {
    const index = entry.sweepIndex
    if (index < 0) return
    entry.sweepIndex = -1
    const last = this.#entries.pop()
    if (last === undefined || last === entry) return
    this.#entries[index] = last
    last.sweepIndex = index
  }

  sweep(): void {
    this.#now = this.#readClock()
    // Backwards, since an entry that ends takes itself out and the last one moves to its place.
    for (let index = this.#entries.length - 1; index >= 0; index -= 1) {
      const entry = this.#entries[index]
      if (entry !== undefined && entry.deadlineAt <= this.#now) {
        entry.deadlineAt = NEVER
        entry.onDeadline()
      }
    }
  }
}

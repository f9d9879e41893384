/**
 * When each request is due: one global schedule in closed form, so that no answer and no late turn moves it.
 * Request n of C connections is the (n div C)-th of connection n mod C, whose phase is (n mod C) ÷ C: the
 * offsets of all connections together are those of one rate. Times are µs since the first due time.
 */
import type { Schedule } from '../load-plan.ts'

export class DueTimes {
  /** How many requests are due in all; 0 for a closed loop, which has no schedule. */
  readonly count: number
  readonly warmUpCount: number
  readonly warmUpUs: number
  readonly endUs: number
  /** Without the warm-up. */
  readonly seconds: number
  readonly #from: number
  /** Change of the rate per second. */
  readonly #slope: number

  /** The warm-up comes before the schedule's own seconds, at its first rate. */
  constructor(schedule: Schedule, warmUpSeconds: number) {
    const [from, to] = ratesOf(schedule)
    this.#from = from
    this.seconds = schedule.seconds
    this.#slope = (to - from) / schedule.seconds
    this.warmUpUs = warmUpSeconds * 1e6
    this.endUs = this.warmUpUs + schedule.seconds * 1e6
    this.warmUpCount = Math.round(from * warmUpSeconds)
    this.count = this.warmUpCount + Math.round(((from + to) / 2) * schedule.seconds)
  }

  dueUs(request: number): number {
    if (request < this.warmUpCount) return (request / this.#from) * 1e6
    return this.warmUpUs + offsetSeconds(request - this.warmUpCount, this.#from, this.#slope) * 1e6
  }

  /** Per second, at a moment of the schedule after its warm-up. */
  rateAt(seconds: number): number {
    return this.#from + this.#slope * Math.min(Math.max(0, seconds), this.seconds)
  }
}

/** The time at which a rate that starts at `from` and changes by `slope` has released n requests. */
export function offsetSeconds(n: number, from: number, slope: number): number {
  if (slope === 0) return n / from
  return (-from + Math.sqrt(from * from + 2 * slope * n)) / slope
}

function ratesOf(schedule: Schedule): readonly [number, number] {
  switch (schedule.kind) {
    case 'constant':
      return [schedule.perSecond, schedule.perSecond]
    case 'ramp':
      return [schedule.fromPerSecond, schedule.toPerSecond]
    case 'closed':
      return [0, 0]
  }
}

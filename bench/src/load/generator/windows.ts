/** The run second by second: what was counted since the last window's end, kept as it is until the run is over. */
import type { LoadWindow } from '../load-plan.ts'
import { Histogram } from './histogram.ts'
import type { DueTimes } from './schedule.ts'

interface ClosedWindow {
  readonly startSeconds: number
  readonly endSeconds: number
  readonly counts: WindowCounts
  readonly latency: Histogram
  readonly lag: Histogram
}

interface WindowCounts {
  requests: number
  ok: number
  errors: number
  shed: number
  bytes: number
}

export class Windows {
  counts: WindowCounts = noCounts()
  readonly latency = new Histogram()
  readonly lag = new Histogram()
  readonly #closed: ClosedWindow[] = []
  #startSeconds = 0

  /** A copy, not an encoding: that can wait, and requests that are due cannot. */
  close(endSeconds: number): void {
    if (endSeconds <= this.#startSeconds) return
    this.#closed.push({
      startSeconds: this.#startSeconds,
      endSeconds,
      counts: this.counts,
      latency: this.latency.take(),
      lag: this.lag.take(),
    })
    this.#startSeconds = endSeconds
    this.counts = noCounts()
  }

  get isEmpty(): boolean {
    const { requests, errors, shed } = this.counts
    return requests + errors + shed === 0
  }

  rows(dueTimes: DueTimes): LoadWindow[] {
    return this.#closed.map((window) => rowOf(window, dueTimes))
  }
}

function noCounts(): WindowCounts {
  return { requests: 0, ok: 0, errors: 0, shed: 0, bytes: 0 }
}

function rowOf(window: ClosedWindow, dueTimes: DueTimes): LoadWindow {
  const { startSeconds, endSeconds, counts, latency, lag } = window
  const seconds = endSeconds - startSeconds
  // What came after the schedule was offered by nobody.
  const rateAt = (at: number) => (startSeconds < dueTimes.seconds ? dueTimes.rateAt(at) : 0)
  return {
    t: endSeconds,
    target_rate: rateAt(endSeconds),
    offered_rate: rateAt((startSeconds + endSeconds) / 2),
    achieved_rate: counts.requests / seconds,
    ok_rate: counts.ok / seconds,
    requests: counts.requests,
    errors: counts.errors,
    shed: counts.shed,
    bytes: counts.bytes,
    bytes_per_sec: counts.bytes / seconds,
    latency_us: {
      p50: latency.valueAt(0.5),
      p90: latency.valueAt(0.9),
      p99: latency.valueAt(0.99),
      p99_9: latency.valueAt(0.999),
      max: latency.max,
    },
    latency_histogram: latency.encode(),
    lag_us: { p50: lag.valueAt(0.5), p99: lag.valueAt(0.99) },
  }
}

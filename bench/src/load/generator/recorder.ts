/**
 * Counts how every request of the measured time ended, with its three clocks. A request of the warm-up is
 * never told to it. Hot: released, started, answered.
 */
import type { Clock, LatencySummary, LoadErrors, LoadPlan, LoadResult } from '../load-plan.ts'
import { Histogram } from './histogram.ts'
import type { DueTimes } from './schedule.ts'
import { StartSpacing } from './start-spacing.ts'
import { Windows } from './windows.ts'

const STATUS_MAX = 1000

/** All in µs. */
export interface Clocks {
  service: number
  release: number
  schedule: number
}

export interface Totals {
  readonly scheduled: number
  readonly startedAtMs: number
  readonly seconds: number
  readonly isInterrupted: boolean
  readonly answeredInAll: number
  readonly exhausted: { readonly ports: number; readonly files: number }
  readonly connectionsOpened: number
  readonly handshakes: { readonly full: number; readonly resumed: number }
  readonly processorNs: number
}

export class Recorder {
  readonly windows = new Windows()
  unsent = 0
  readonly #expectedStatus: number
  readonly #clocks = {
    service: new Histogram(),
    release: new Histogram(),
    schedule: new Histogram(),
  }
  readonly #lag = new Histogram()
  readonly #spacing = new StartSpacing()
  readonly #statuses = new Uint32Array(STATUS_MAX)
  readonly #errors = { connect: 0, read: 0, write: 0, timeout: 0, wrong: 0 }
  #ok = 0
  #shed = 0
  #bytes = 0

  constructor({ expected }: LoadPlan) {
    this.#expectedStatus = expected.status
  }

  released(lagUs: number): void {
    this.#lag.record(lagUs)
    this.windows.lag.record(lagUs)
  }

  started(us: number): void {
    this.#spacing.start(us)
  }

  answered(status: number, isAsExpected: boolean, bytes: number, clocks: Clocks): void {
    const { counts } = this.windows
    this.#sample(clocks)
    this.#bytes += bytes
    counts.bytes += bytes
    counts.requests += 1
    if (status !== this.#expectedStatus) {
      const index = status < STATUS_MAX ? status : 0
      this.#statuses[index] = (this.#statuses[index] ?? 0) + 1
    } else if (isAsExpected) {
      this.#ok += 1
      counts.ok += 1
    } else {
      this.#errors.wrong += 1
      counts.errors += 1
    }
  }

  failed(error: Exclude<keyof LoadErrors, 'wrong'>, clocks: Clocks): void {
    // Whoever waited that long was not served sooner: without its sample the tail would look shorter.
    if (error === 'timeout') this.#sample(clocks)
    this.#errors[error] += 1
    this.windows.counts.errors += 1
  }

  shed(): void {
    this.#shed += 1
    this.windows.counts.shed += 1
  }

  result(dueTimes: DueTimes, totals: Totals): LoadResult {
    const { seconds } = totals
    return {
      ...totals,
      ok: this.#ok,
      otherStatuses: this.#otherStatuses(),
      errors: { ...this.#errors },
      shed: this.#shed,
      unsent: this.unsent,
      bytes: this.#bytes,
      latency: this.#latency(),
      lag: this.#lag.summary(),
      burstIndex: this.#spacing.burstIndex(seconds),
      startsPerMs: this.#spacing.histogram(seconds),
      tailMeans: tailMeansOf(this.#clocks.service),
      windows: this.windows.rows(dueTimes),
    }
  }

  #sample(clocks: Clocks): void {
    this.#clocks.service.record(clocks.service)
    this.#clocks.release.record(clocks.release)
    this.#clocks.schedule.record(clocks.schedule)
    this.windows.latency.record(clocks.schedule)
  }

  #latency(): Record<Clock, LatencySummary> {
    const { service, release, schedule } = this.#clocks
    return {
      service: service.summary(),
      release: release.summary(),
      schedule: schedule.summary(),
    }
  }

  #otherStatuses(): Record<string, number> {
    const pairs = Array.from(this.#statuses.entries()).filter(([, count]) => count > 0)
    return Object.fromEntries(pairs.map(([status, count]) => [String(status), count]))
  }
}

function tailMeansOf(service: Histogram): LoadResult['tailMeans'] {
  return {
    p50: service.tailMean(0.5),
    p75: service.tailMean(0.75),
    p90: service.tailMean(0.9),
    p95: service.tailMean(0.95),
    p99: service.tailMean(0.99),
    p999: service.tailMean(0.999),
  }
}

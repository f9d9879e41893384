/**
 * What workers report, on its way out: counters to /metrics and the outlet, log samples to the merge and then
 * the outlet. Ticks once a second, a little after the workers.
 */
import { unpackTraffic } from '../packed-traffic.ts'
import type { WorkerReport } from '../worker-protocol.ts'
import { limits } from './limits.ts'
import { LogMerge, type MergedSecond } from './log-merge.ts'
import { NodeCounters } from './node-counters.ts'
import type { ReportOutlet } from './report-outlet.ts'

export interface ReportingOptions {
  readonly outlet: ReportOutlet
  /** The workers whose reports of a second are waited for. */
  readonly reporting: () => readonly object[]
  /** The node's cap of log lines in any second. */
  readonly linesPerSecond: () => number
}

export class Reporting {
  readonly counters = new NodeCounters()
  readonly #merge = new LogMerge()
  readonly #options: ReportingOptions
  #requestsNotKept = 0
  #timer: NodeJS.Timeout | undefined

  constructor(options: ReportingOptions) {
    this.#options = options
  }

  /** Requests for which sampling kept no line, since the start. */
  get requestsNotKept(): number {
    return this.#requestsNotKept
  }

  start(): void {
    const toNextMs = limits.tickMs - ((Date.now() - limits.tickOffsetMs) % limits.tickMs)
    this.#timer = setTimeout(() => {
      this.#tick()
      this.start()
    }, toNextMs)
  }

  take(worker: object, report: WorkerReport): void {
    const traffic = unpackTraffic(report.traffic)
    this.counters.add(worker, traffic, report)
    this.#options.outlet.addTraffic(traffic)
    this.#merge.add(worker, report.logs)
  }

  /** The workers are gone: hands on what is left. */
  async finish(): Promise<void> {
    clearTimeout(this.#timer)
    this.#handOn(this.#merge.finish(this.#linesMax()))
    await this.#options.outlet.finish()
  }

  #tick(): void {
    this.#handOn(this.#merge.tick(Date.now(), this.#options.reporting(), this.#linesMax()))
    this.#options.outlet.tick()
  }

  #handOn(seconds: readonly MergedSecond[]): void {
    for (const second of seconds) {
      this.#requestsNotKept += second.notKept
      this.#options.outlet.addSecond(second)
    }
  }

  #linesMax(): number {
    return Math.min(this.#options.linesPerSecond(), limits.logLinesPerSecondMax)
  }
}

/**
 * What workers report, on its way out: counters to telemetry and /metrics, log samples to the merge and the
 * queue. Ticks once a second, a little after the workers.
 */
import type { CounterBatch, LogBatch } from '@sluice/proto'
import type { Logger } from 'pino'
import type { WorkerReport } from '../worker-protocol.ts'
import { limits } from './limits.ts'
import { LogMerge, type MergedSecond } from './log-merge.ts'
import { LogQueue } from './log-queue.ts'
import { LogSpool } from './log-spool.ts'
import { NodeCounters } from './node-counters.ts'
import { Telemetry } from './telemetry.ts'
import { TelemetrySpool } from './telemetry-spool.ts'

export interface ReportingOptions {
  readonly bootId: string
  readonly dataFolder: string
  readonly logger: Logger
  readonly sender: {
    readonly isOpen: boolean
    sendCounters(batch: CounterBatch): void
    sendLogs(batch: LogBatch): void
  }
  /** The workers whose reports of a second are waited for. */
  readonly reporting: () => readonly object[]
  /** The node's cap of log lines in any second. */
  readonly linesPerSecond: () => number
}

export class Reporting {
  readonly counters = new NodeCounters()
  readonly telemetry: Telemetry
  readonly logs: LogQueue
  readonly #logSpool: LogSpool
  readonly #merge = new LogMerge()
  readonly #options: ReportingOptions
  #requestsNotKept = 0
  #timer: NodeJS.Timeout | undefined

  constructor(options: ReportingOptions) {
    const { bootId, dataFolder, logger, sender } = options
    this.#options = options
    const spool = new TelemetrySpool(dataFolder, logger)
    this.telemetry = new Telemetry({ bootId, spool, sender, logger })
    this.#logSpool = new LogSpool(dataFolder, logger)
    const carried = this.#logSpool.take()
    this.logs = new LogQueue({ bootId, sender, logger, carried })
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
    this.counters.add(worker, report)
    this.telemetry.add(report.traffic)
    this.#merge.add(worker, report.logs)
  }

  connected(): void {
    this.telemetry.connected()
    this.logs.connected()
  }

  /** A refusal says nothing of which batch it is for: counters are blamed only when alone. */
  disconnected(refusal: string | undefined): void {
    if (refusal !== undefined) {
      this.telemetry.refused(refusal, !this.logs.isInFlight)
      this.logs.refused(refusal)
    }
    this.telemetry.disconnected()
    this.logs.disconnected()
  }

  /** The workers are gone: sends what is left. What cannot be sent in time stays on the disk. */
  async finish(): Promise<void> {
    clearTimeout(this.#timer)
    this.#queue(this.#merge.finish(this.#linesMax()))
    const [areCountersSent] = await Promise.all([
      this.telemetry.flush(limits.flushTimeoutMs),
      this.logs.flush(limits.flushTimeoutMs),
    ])
    this.#logSpool.save(this.logs.takeAll())
    if (!areCountersSent) this.#options.logger.info('the last counters wait on the disk')
  }

  #tick(): void {
    this.#queue(this.#merge.tick(Date.now(), this.#options.reporting(), this.#linesMax()))
    this.telemetry.tick()
    this.logs.tick()
  }

  #queue(seconds: readonly MergedSecond[]): void {
    for (const second of seconds) {
      this.#requestsNotKept += second.notKept
      this.logs.add(second)
    }
  }

  #linesMax(): number {
    return Math.min(this.#options.linesPerSecond(), limits.logLinesPerSecondMax)
  }
}

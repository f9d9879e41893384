/** The outlet of a node with a control plane: counters and log lines are delivered, or wait on the disk. */
import type { CounterBatch, LogBatch } from '@sluice/proto'
import type { Logger } from 'pino'
import type { TrafficDelta } from '../worker-protocol.ts'
import { limits } from './limits.ts'
import type { MergedSecond } from './log-merge.ts'
import { LogQueue } from './log-queue.ts'
import { LogSpool } from './log-spool.ts'
import type { OutletFigures, ReportOutlet } from './report-outlet.ts'
import { Telemetry } from './telemetry.ts'
import { TelemetrySpool } from './telemetry-spool.ts'

export interface DeliveryOptions {
  readonly bootId: string
  readonly dataFolder: string
  readonly logger: Logger
  readonly sender: {
    readonly isOpen: boolean
    sendCounters(batch: CounterBatch): void
    sendLogs(batch: LogBatch): void
  }
}

export class Delivery implements ReportOutlet {
  readonly telemetry: Telemetry
  readonly logs: LogQueue
  readonly #logSpool: LogSpool
  readonly #logger: Logger

  constructor({ bootId, dataFolder, logger, sender }: DeliveryOptions) {
    this.#logger = logger
    const spool = new TelemetrySpool(dataFolder, logger)
    this.telemetry = new Telemetry({ bootId, spool, sender, logger })
    this.#logSpool = new LogSpool(dataFolder, logger)
    const carried = this.#logSpool.take()
    this.logs = new LogQueue({ bootId, sender, logger, carried })
  }

  addTraffic(traffic: readonly TrafficDelta[]): void {
    this.telemetry.add(traffic)
  }

  addSecond(second: MergedSecond): void {
    this.logs.add(second)
  }

  tick(): void {
    this.telemetry.tick()
    this.logs.tick()
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

  /** Sends what is left. What cannot be sent in time stays on the disk. */
  async finish(): Promise<void> {
    const [areCountersSent] = await Promise.all([
      this.telemetry.flush(limits.flushTimeoutMs),
      this.logs.flush(limits.flushTimeoutMs),
    ])
    this.#logSpool.save(this.logs.takeAll())
    if (!areCountersSent) this.#logger.info('the last counters wait on the disk')
  }

  figures(): OutletFigures {
    return {
      telemetryRowsWaiting: this.telemetry.rowsWaiting,
      telemetryRowsCoarsened: this.telemetry.rowsCoarsened,
      telemetryRequestsRefused: this.telemetry.requestsRefused,
      logLinesSent: this.logs.delivered,
      logLinesWaiting: this.logs.waiting,
      logLinesDropped: this.logs.dropped,
    }
  }
}

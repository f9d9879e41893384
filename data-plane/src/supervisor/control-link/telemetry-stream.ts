/** One telemetry stream: at most one batch of counters and one of logs are on their way at a time. */
import type { ClientDuplexStream, StatusObject } from '@grpc/grpc-js'
import type { CounterBatch, LogBatch, ReportRequest, ReportResponse } from '@sluice/proto'
import { limits } from '../limits.ts'
import type { StreamEnd } from './configuration-stream.ts'

export interface TelemetryStreamHandlers {
  readonly onCountersStored: (bootId: string, sequence: bigint) => void
  readonly onLogsStored: (bootId: string, sequence: bigint) => void
}

export class TelemetryStream {
  readonly #call: ClientDuplexStream<ReportRequest, ReportResponse>
  readonly #handlers: TelemetryStreamHandlers
  readonly #ended = Promise.withResolvers<StreamEnd>()
  #countersTimer: NodeJS.Timeout | undefined
  #logsTimer: NodeJS.Timeout | undefined

  constructor(
    call: ClientDuplexStream<ReportRequest, ReportResponse>,
    handlers: TelemetryStreamHandlers,
  ) {
    this.#call = call
    this.#handlers = handlers
    call.on('data', (response: ReportResponse) => this.#take(response))
    // The status says what ended the stream, and comes after the error.
    call.on('error', () => undefined)
    call.on('status', ({ code, details }: StatusObject) => {
      clearTimeout(this.#countersTimer)
      clearTimeout(this.#logsTimer)
      this.#ended.resolve({ code, details })
    })
  }

  /** How it ended. */
  get ended(): Promise<StreamEnd> {
    return this.#ended.promise
  }

  sendCounters(batch: CounterBatch): void {
    this.#countersTimer = this.#answerDue()
    this.#call.write({ message: { $case: 'counters', value: batch } })
  }

  sendLogs(batch: LogBatch): void {
    this.#logsTimer = this.#answerDue()
    this.#call.write({ message: { $case: 'logs', value: batch } })
  }

  async end(): Promise<void> {
    this.#call.end()
    const timer = setTimeout(() => this.#call.cancel(), limits.streamEndTimeoutMs)
    await this.#ended.promise
    clearTimeout(timer)
  }

  #answerDue(): NodeJS.Timeout {
    return setTimeout(() => this.#call.cancel(), limits.acknowledgementTimeoutMs)
  }

  #take({ message }: ReportResponse): void {
    switch (message?.$case) {
      case 'countersStored':
        clearTimeout(this.#countersTimer)
        this.#handlers.onCountersStored(message.value.bootId, message.value.sequence)
        break
      case 'logsStored':
        clearTimeout(this.#logsTimer)
        this.#handlers.onLogsStored(message.value.bootId, message.value.sequence)
        break
      case undefined:
        // A message of a newer control plane.
        break
    }
  }
}

/** A node's telemetry stream: each batch is stored, then acknowledged, then the next one is read. */
import { status } from '@grpc/grpc-js'
import type { ReportRequest, ReportResponse } from '@sluice/proto'
import type { StoreResult } from '../telemetry/ingest.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'
import { FleetRefusal, invalid } from './fleet-refusal.ts'
import type { NodeStream } from './node-stream.ts'
import type { PeerNode } from './peer-identity.ts'
import { encodeReport } from './service-definitions.ts'
import type { LiveStream } from './sessions.ts'

export interface ReportStreamOptions {
  readonly stream: NodeStream<ReportRequest>
  readonly node: PeerNode
  readonly telemetry: Pick<Telemetry, 'storeCounters' | 'storeLogs'>
  readonly writeMs: number
}

export class ReportStream implements LiveStream {
  readonly #options: ReportStreamOptions

  constructor(options: ReportStreamOptions) {
    this.#options = options
  }

  start(): void {
    this.#options.stream.read((request) => this.#handle(request))
  }

  end(code: status, details: string): void {
    this.#options.stream.end(code, details)
  }

  async #handle({ message }: ReportRequest): Promise<void> {
    const { node, telemetry } = this.#options
    switch (message?.$case) {
      case 'counters': {
        const { bootId, sequence } = message.value
        assertStored(await telemetry.storeCounters(node.id, message.value))
        return this.#answer({ $case: 'countersStored', value: { bootId, sequence } })
      }
      case 'logs': {
        const { bootId, sequence } = message.value
        assertStored(await telemetry.storeLogs(node.id, message.value))
        return this.#answer({ $case: 'logsStored', value: { bootId, sequence } })
      }
      case undefined:
        throw invalid('the message holds neither counters nor logs')
    }
  }

  async #answer(message: ReportResponse['message']): Promise<void> {
    await this.#options.stream.write(encodeReport(message), this.#options.writeMs)
  }
}

function assertStored(result: StoreResult): void {
  switch (result.kind) {
    case 'stored':
      return
    case 'refused':
      throw invalid(result.reason)
    case 'busy':
      throw new FleetRefusal(
        status.RESOURCE_EXHAUSTED,
        'too many batches wait to be stored; send it again later',
      )
  }
}

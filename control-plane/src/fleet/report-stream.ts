/**
 * A node's telemetry stream: each batch is stored, then acknowledged, then the next one is read. A batch
 * waits as the bytes that came, and becomes objects, which take ten times the memory, when its turn comes.
 */
import { status } from '@grpc/grpc-js'
import type { ReportResponse } from '@sluice/proto'
import type { StoreResult } from '../telemetry/ingest.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'
import type { ByteBudget } from './byte-budget.ts'
import { FleetRefusal, invalid } from './fleet-refusal.ts'
import type { NodeStream } from './node-stream.ts'
import type { PeerNode } from './peer-identity.ts'
import { decodeReport, encodeReport } from './service-definitions.ts'
import type { LiveStream } from './sessions.ts'

export interface ReportStreamOptions {
  /** Of encoded requests. */
  readonly stream: NodeStream<Buffer>
  /** Shared by all nodes: the encoded bytes of what is decoded at once. */
  readonly decoding: ByteBudget
  readonly node: PeerNode
  readonly telemetry: Pick<Telemetry, 'storeCounters' | 'storeLogs'>
  readonly writeMs: number
}

interface Storing {
  readonly result: Promise<StoreResult>
  /** For when it is stored. */
  readonly answer: ReportResponse['message']
}

export class ReportStream implements LiveStream {
  readonly #options: ReportStreamOptions

  constructor(options: ReportStreamOptions) {
    this.#options = options
  }

  start(): void {
    this.#options.stream.read((bytes) => this.#handle(bytes))
  }

  end(code: status, details: string): void {
    this.#options.stream.end(code, details)
  }

  async #handle(bytes: Buffer): Promise<void> {
    const { stream, decoding, writeMs } = this.#options
    const leave = await new Promise<() => void>((resolve) => {
      decoding.enter(bytes.length, resolve)
    })
    let answer: Buffer
    try {
      if (!stream.isOpen) return
      const storing = this.#store(bytes)
      assertStored(await storing.result)
      answer = encodeReport(storing.answer)
    } finally {
      leave()
    }
    await stream.write(answer, writeMs)
  }

  /** Not async, since what a batch was decoded to would live on until the batch is stored. */
  #store(bytes: Buffer): Storing {
    const { node, telemetry } = this.#options
    const decoded = decodeReport(bytes)
    if (decoded.kind === 'malformed') throw invalid('the message cannot be decoded')
    const { message } = decoded.request
    switch (message?.$case) {
      case 'counters': {
        const { bootId, sequence } = message.value
        return {
          result: telemetry.storeCounters(node.id, message.value),
          answer: { $case: 'countersStored', value: { bootId, sequence } },
        }
      }
      case 'logs': {
        const { bootId, sequence } = message.value
        return {
          result: telemetry.storeLogs(node.id, message.value),
          answer: { $case: 'logsStored', value: { bootId, sequence } },
        }
      }
      case undefined:
        throw invalid('the message holds neither counters nor logs')
    }
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

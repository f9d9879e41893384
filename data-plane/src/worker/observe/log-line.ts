/** Builds the log line of an exchange that was chosen for the sample; never called for any other. */
import type { LogLine, Outcome } from '@sluice/proto'
import type { ExchangeRecord } from '../exchange/exchange-record.ts'
import type { Request } from '../exchange/request.ts'

const FIELD_CHARACTERS_MAX = 1_024

export interface LineEnd {
  /** When the exchange ended, milliseconds since the epoch. */
  readonly timeMs: number
  readonly durationMs: number
  readonly outcome: Outcome
}

export function logLine(
  record: ExchangeRecord,
  request: Request,
  where: { readonly entryPoint: string; readonly peerAddress: string },
  end: LineEnd,
): LogLine {
  const { route, server } = record
  const firstByteMs = record.firstByteAt === 0 ? 0 : record.firstByteAt - record.startedAt
  return {
    timeMs: BigInt(end.timeMs),
    router: route?.router ?? '',
    service: route?.service ?? '',
    server: server?.settings.authority ?? '',
    entryPoint: where.entryPoint,
    clientAddress: request.clientAddress || where.peerAddress,
    method: escaped(request.method),
    host: escaped(request.host),
    path: escaped(request.path),
    protocol: `HTTP/1.${request.minorVersion}`,
    status: record.status,
    outcome: end.outcome,
    bytesIn: BigInt(record.bytesIn),
    bytesOut: BigInt(record.bytesOut),
    durationUs: BigInt(Math.round(end.durationMs * 1_000)),
    firstByteUs: BigInt(Math.round(firstByteMs * 1_000)),
    attempts: record.attempts,
    userAgent: escaped(request.userAgent),
    weight: 0,
    query: '',
    referrer: '',
    requestId: '',
    tlsVersion: '',
  }
}

/** Printable ASCII as it is, every other byte as \xHH, and a bounded length. */
function escaped(text: string): string {
  return text
    .slice(0, FIELD_CHARACTERS_MAX)
    .replaceAll(
      /[^\x20-\x7e]/g,
      (character) => `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`,
    )
}

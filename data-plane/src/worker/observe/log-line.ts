/** Builds the log line of an exchange that was chosen for the sample; never called for any other. */
import type { LogLine, Outcome } from '@sluice/proto'
import type { Exchange } from '../exchange/exchange.ts'

const FIELD_CHARACTERS_MAX = 1_024

/** `timeMs`: when the exchange ended. */
export function logLine(
  exchange: Exchange,
  timeMs: number,
  durationMs: number,
  outcome: Outcome,
): LogLine {
  const { request, route, server } = exchange
  return {
    timeMs: BigInt(timeMs),
    router: route?.router ?? '',
    service: route?.service ?? '',
    server: server?.settings.authority ?? '',
    entryPoint: exchange.entryPointName,
    clientAddress: request.clientAddress || exchange.peerAddress,
    method: escaped(request.method),
    host: escaped(request.host),
    path: escaped(request.path),
    protocol: `HTTP/1.${request.minorVersion}`,
    status: exchange.status,
    outcome,
    bytesIn: BigInt(exchange.bytesIn),
    bytesOut: BigInt(exchange.bytesOut),
    durationUs: BigInt(Math.round(durationMs * 1_000)),
    firstByteUs:
      exchange.firstByteAt === 0
        ? 0n
        : BigInt(Math.round((exchange.firstByteAt - exchange.startedAt) * 1_000)),
    attempts: exchange.attempts,
    userAgent: escaped(request.userAgent),
    weight: 0,
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

/** What a peer does to a request and an answer, as seen from both ends, and how it differs from another. Data alone. */
import type { TlsFacts } from '../tls-probe.ts'
import type { CapturedRequest, Field } from './capturing-origin.ts'

export interface CapturedAnswer {
  readonly status: number
  readonly httpVersion: string
  readonly fields: readonly Field[]
  readonly bodyBytes: number
}

export interface CapturedExchange {
  /** As our client sent it. */
  readonly sent: readonly Field[]
  /** As the origin got it. */
  readonly received: CapturedRequest
  /** As the origin answered, without Date and the fields of its connection. */
  readonly answered: readonly Field[]
  /** As our client got it. */
  readonly answer: CapturedAnswer
}

export interface ParityRecord {
  readonly peer: string
  readonly version: string
  readonly sha256: string
  readonly exchanges: { readonly http: CapturedExchange; readonly https: CapturedExchange }
  readonly tls: TlsFacts
  /** Requests and connections at the origin while nobody asked: health checks. */
  readonly idle: {
    readonly seconds: number
    readonly requests: number
    readonly connections: number
  }
  /** What the proxy opened at the origin for a number of requests on kept connections. */
  readonly reuse: {
    readonly requests: number
    readonly originRequests: number
    readonly connections: number
    readonly connectionsPer1000: number
  }
  /** Where a log file is asked for; undefined: it writes none. */
  readonly logLinesPerRequest: number | undefined
  /** Queue of new connections, as the kernel took it. */
  readonly backlog: { readonly http: number; readonly https: number }
  readonly processes: number
  readonly threads: number
  readonly configuration: readonly { readonly file: string; readonly sha256: string }[]
  /** To the reference, each a sentence. */
  readonly differences: readonly string[]
}

/** Fields that belong to one connection, and not to the request. */
const OWN_VALUES = new Set(['connection', 'keep-alive'])
/** All requests come by loopback. */
const CLIENT = '127.0.0.1'
const FORWARDED = ['X-Forwarded-For', 'X-Forwarded-Proto', 'X-Forwarded-Host']
const IDLE_REQUESTS_MAX = 0
/** Above this many connections for 1,000 requests a proxy does not keep them. */
const CONNECTIONS_PER_1000_MAX = 50

/** What anyone must do to be comparable at all, and then what sets one apart from the reference. */
export function differencesOf(
  record: Omit<ParityRecord, 'differences'>,
  reference?: Omit<ParityRecord, 'differences'>,
): string[] {
  const { http, https } = record.exchanges
  return [
    ...requestFaults(record.peer, http, 'http'),
    ...requestFaults(record.peer, https, 'https'),
    ...answerFaults(record.peer, http),
    ...connectionFaults(record),
    ...(reference === undefined || reference.peer === record.peer
      ? []
      : fromReference(record, reference)),
  ]
}

function requestFaults(peer: string, exchange: CapturedExchange, protocol: string): string[] {
  const { sent, received } = exchange
  const lost = sent
    .filter(([name]) => !OWN_VALUES.has(name.toLowerCase()))
    .filter(([name, value]) => fieldValue(received.fields, name) !== value)
    .map(([name]) => `${peer} does not pass ${name} on as it came (${protocol})`)
  const missing = FORWARDED.filter((name) => fieldValue(received.fields, name) === undefined).map(
    (name) => `${peer} adds no ${name} (${protocol})`,
  )
  const proto = fieldValue(received.fields, 'X-Forwarded-Proto')
  const client = fieldValue(received.fields, 'X-Forwarded-For')
  const wrong = [
    ...(proto === undefined || proto === protocol
      ? []
      : [`${peer} says X-Forwarded-Proto: ${proto} of a request by ${protocol}`]),
    ...(client === undefined || client === CLIENT
      ? []
      : [`${peer} says X-Forwarded-For: ${client} of a client at ${CLIENT}`]),
  ]
  const version =
    received.httpVersion === '1.1'
      ? []
      : [`${peer} asks the origin by HTTP/${received.httpVersion}`]
  return [...lost, ...missing, ...wrong, ...version]
}

function answerFaults(peer: string, { answered, answer }: CapturedExchange): string[] {
  const length = Number(fieldValue(answered, 'Content-Length'))
  const lost = answered
    .filter(([name, value]) => fieldValue(answer.fields, name) !== value)
    .map(([name]) => `${peer} does not pass the answer's ${name} on as it came`)
  return [
    ...lost,
    ...(answer.status === 200
      ? []
      : [`${peer} answers ${answer.status} where the origin said 200`]),
    ...(answer.bodyBytes === length
      ? []
      : [`${peer} passes ${answer.bodyBytes} bytes on where the origin sent ${length}`]),
    ...(answer.httpVersion === '1.1' ? [] : [`${peer} answers by HTTP/${answer.httpVersion}`]),
    ...(fieldValue(answer.fields, 'Connection')?.toLowerCase() === 'close'
      ? [`${peer} closes the client's connection after an answer`]
      : []),
  ]
}

function connectionFaults({ peer, idle, reuse, tls }: Omit<ParityRecord, 'differences'>): string[] {
  const perRequest = Math.round(reuse.connectionsPer1000)
  return [
    ...(idle.requests > IDLE_REQUESTS_MAX
      ? [`${peer} asks the origin by itself: ${idle.requests} requests in ${idle.seconds} s`]
      : []),
    ...(reuse.connectionsPer1000 > CONNECTIONS_PER_1000_MAX
      ? [`${peer} opens ${perRequest} connections to the origin for 1,000 requests`]
      : []),
    ...(reuse.originRequests === reuse.requests
      ? []
      : [`${peer} made ${reuse.originRequests} requests of ${reuse.requests}`]),
    ...(tls.isResumed
      ? []
      : [`${peer} does not resume TLS sessions: its new connections are full handshakes`]),
    ...(tls.isResumed && !tls.isRenewed
      ? [`${peer} gives no new ticket to a resumed session`]
      : []),
    ...(tls.protocol === 'http/1.1' || tls.protocol === 'none'
      ? []
      : [`${peer} chose ${tls.protocol} by ALPN`]),
  ]
}

function fromReference(
  record: Omit<ParityRecord, 'differences'>,
  reference: Omit<ParityRecord, 'differences'>,
): string[] {
  const { peer } = record
  const ours = record.exchanges.http
  const theirs = reference.exchanges.http
  const unlike = (what: string, one: unknown, other: unknown) =>
    one === other ? [] : [`${peer} has ${what} ${one}, ${reference.peer} ${other}`]
  return [
    ...added(ours.received.fields, theirs.received.fields).map(
      (name) => `${peer} tells the origin ${name}, ${reference.peer} does not`,
    ),
    ...added(ours.answer.fields, theirs.answer.fields).map(
      (name) => `${peer} tells the client ${name}, ${reference.peer} does not`,
    ),
    ...unlike('TLS version', record.tls.version, reference.tls.version),
    ...unlike('TLS cipher', record.tls.cipher, reference.tls.cipher),
    ...unlike('key exchange group', record.tls.group, reference.tls.group),
    ...unlike('certificate', record.tls.fingerprint, reference.tls.fingerprint),
    ...unlike('a backlog of', record.backlog.http, reference.backlog.http),
    ...unlike(
      'log lines for each request:',
      record.logLinesPerRequest ?? 'none',
      reference.logLinesPerRequest ?? 'none',
    ),
  ]
}

/** Names that the first has and the second lacks. */
function added(fields: readonly Field[], others: readonly Field[]): string[] {
  const known = new Set(others.map(([name]) => name.toLowerCase()))
  return fields.map(([name]) => name).filter((name) => !known.has(name.toLowerCase()))
}

function fieldValue(fields: readonly Field[], wanted: string): string | undefined {
  return fields.find(([name]) => name.toLowerCase() === wanted.toLowerCase())?.[1]
}

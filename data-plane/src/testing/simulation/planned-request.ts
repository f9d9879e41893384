/** What clients send: valid requests in all shapes, and some that must be refused, each with an id of its own. */
import { limits } from '../../limits.ts'
import type { Random } from '../random.ts'
import { MALFORMED_BODIES, MALFORMED_HEADS } from './malformed-requests.ts'
import type { PlannedAnswer } from './planned-answer.ts'
import { NO_TRAILERS, pickTrailers } from './planned-trailers.ts'
import type { SimulatedTransport } from './simulated-transport.ts'

/** One sending of a request to a server. */
export class Attempt {
  /** Bytes of its body that came. */
  bodyLength = 0
  readonly #transport: SimulatedTransport
  readonly #readBefore: number

  constructor(transport: SimulatedTransport) {
    this.#transport = transport
    this.#readBefore = transport.bytesRead
  }

  /** The engine has read a byte of an answer. */
  get hasAnswered(): boolean {
    return this.#transport.bytesRead > this.#readBefore
  }
}

export interface PlannedRequest {
  readonly id: string
  readonly method: string
  readonly minorVersion: 0 | 1
  /** As the client sends it; short of its end when the client stops in the middle. */
  readonly bytes: Buffer
  readonly headLength: number
  /** Decoded. */
  readonly body: string
  /** The lines after its last chunk that may go on. */
  readonly trailers: string
  readonly acceptsTrailers: boolean
  /** Its method and its announced length allow a second sending. */
  readonly isRepeatable: boolean
  /** `head`: no byte of it may go on. `body`: it may never be whole at a server. */
  readonly fault: 'none' | 'head' | 'body' | 'cut'
  /** A router takes its host. */
  readonly isRouted: boolean
  /** By its own words no request follows it. */
  readonly isLast: boolean
  /** A request before it on the connection was the last, or faulty. */
  readonly isAfterLast: boolean
  /** The client began to send it. */
  isBegun: boolean
  /** Its heads at servers. */
  readonly attempts: Attempt[]
  readonly answers: PlannedAnswer[]
  /** The client saw the answer whole. */
  isAnswered: boolean
}

/** Text that would do harm if it were ever taken for a message. */
export function bodyOf(id: string, length: number): string {
  const tile = `<${id}>\r\n\r\n0\r\n\r\nGET /e/smuggled HTTP/1.1\r\nHost: a.test\r\n\r\nHTTP/1.1 200 OK\r\nX-Id: ${id}-evil\r\n\r\n`
  return tile.repeat(Math.ceil(length / tile.length)).slice(0, length)
}

const BODILESS_METHODS = ['GET', 'GET', 'GET', 'HEAD', 'DELETE', 'OPTIONS', 'POST']
/** RFC 9110 section 9.2.2. */
const NEVER_REPEATED = new Set(['POST', 'PATCH'])
const METHODS = ['POST', 'POST', 'PUT', 'PATCH', 'GET', 'HEAD']
const EXTRA_LINES = [
  'Accept: */*',
  'X-Forwarded-For: 6.6.6.6',
  'Forwarded: for=6.6.6.6',
  'TE: trailers',
  'Upgrade: h2c',
  'Cookie: a=b; c=d',
  'X-Empty:',
  'x-odd:\t  spaced out \t',
  'X-Latin: \xe9\xff',
]

export function planRequests(random: Random, client: number, isCalm: boolean): PlannedRequest[] {
  const requests: PlannedRequest[] = []
  const count = random.between(1, 6)
  let isAfterLast = false
  for (let turn = 0; turn < count; turn += 1) {
    const id = `c${client}-${turn}`
    const fault = isCalm ? 'none' : pickFault(random, turn === count - 1)
    const request: PlannedRequest =
      fault === 'head'
        ? malformedHead(random, id, isAfterLast)
        : plan(random, id, fault, isAfterLast)
    requests.push(request)
    isAfterLast ||= request.isLast || request.fault !== 'none'
  }
  return requests
}

function pickFault(random: Random, isFinal: boolean): PlannedRequest['fault'] {
  const choice = random.fraction()
  if (choice < 0.06) return 'head'
  if (choice < 0.1) return 'body'
  return isFinal && choice < 0.25 ? 'cut' : 'none'
}

const UNSEEN = { isBegun: false, isAnswered: false }

function malformedHead(random: Random, id: string, isAfterLast: boolean): PlannedRequest {
  const text = random.pick(MALFORMED_HEADS)(id)
  return {
    ...UNSEEN,
    id,
    method: text.trimStart().split(' ')[0] ?? '',
    minorVersion: 1,
    bytes: Buffer.from(text, 'latin1'),
    headLength: text.length,
    body: '',
    trailers: '',
    acceptsTrailers: false,
    isRepeatable: false,
    fault: 'head',
    isRouted: true,
    isLast: true,
    isAfterLast,
    attempts: [],
    answers: [],
  }
}

function plan(
  random: Random,
  id: string,
  fault: 'none' | 'body' | 'cut',
  isAfterLast: boolean,
): PlannedRequest {
  const minorVersion = fault !== 'body' && random.chance(0.18) ? 0 : 1
  const hasBody = fault === 'body' || random.chance(0.45)
  const isChunked = minorVersion === 1 && hasBody && (fault === 'body' || random.chance(0.5))
  const body = hasBody ? bodyOf(id, bodyLength(random)) : ''
  const method = random.pick(hasBody ? METHODS : BODILESS_METHODS)
  const isRouted = random.chance(0.93)
  const isLast = isLastOf(random, minorVersion)
  const lines = extraLines(random, isRouted ? 'a.test' : 'none.test')
  lines.push(...connectionLines(random, minorVersion, isLast))
  if (isChunked)
    lines.push(random.pick(['Transfer-Encoding: chunked', 'transfer-encoding:CHUNKED ']))
  else if (hasBody || random.chance(0.2))
    lines.push(`Content-Length: ${'0'.repeat(random.between(0, 2))}${body.length}`)
  if (hasBody && random.chance(0.1)) lines.push('Expect: 100-continue')
  const emptyLine = random.chance(0.05) ? '\r\n' : ''
  const head = `${emptyLine}${method} ${target(random, id, isRouted)} HTTP/1.${minorVersion}\r\n${lines.join('\r\n')}\r\n\r\n`
  const trailers = isChunked && fault !== 'body' ? pickTrailers(random) : NO_TRAILERS
  const sent = isChunked ? inChunks(random, body, trailers.sent) : body
  const text = fault === 'body' ? head + random.pick(MALFORMED_BODIES)(sent) : head + sent
  const length = fault === 'cut' ? random.between(1, text.length - 1) : text.length
  return {
    ...UNSEEN,
    id,
    method,
    minorVersion,
    bytes: Buffer.from(text.slice(0, length), 'latin1'),
    headLength: head.length,
    body,
    trailers: trailers.kept,
    acceptsTrailers: minorVersion === 1 && lines.includes('TE: trailers'),
    isRepeatable:
      !NEVER_REPEATED.has(method) && (isChunked || body.length <= limits.replayedBodyBytesMax),
    fault,
    isRouted,
    isLast,
    isAfterLast,
    attempts: [],
    answers: [],
  }
}

function bodyLength(random: Random): number {
  if (random.chance(0.15)) return 0
  return random.chance(0.03) ? random.skewed(400_000) : random.skewed(5_000)
}

function isLastOf(random: Random, minorVersion: 0 | 1): boolean {
  return minorVersion === 0 ? random.chance(0.5) : random.chance(0.1)
}

function connectionLines(random: Random, minorVersion: 0 | 1, isLast: boolean): string[] {
  const hop = random.chance(0.1) ? ['x-hop'] : []
  if (isLast && minorVersion === 1) hop.push('close')
  if (!isLast && minorVersion === 0) hop.push('Keep-Alive')
  const lines = hop.length > 0 ? [`Connection: ${hop.join(', ')}`] : []
  if (hop.includes('x-hop')) lines.unshift('X-Hop: 1')
  return lines
}

function extraLines(random: Random, host: string): string[] {
  const lines = [random.pick([`Host: ${host}`, `host:${host.toUpperCase()}:80`, `HOST: ${host}.`])]
  for (const line of EXTRA_LINES) if (random.chance(0.1)) lines.push(line)
  if (random.chance(0.02))
    lines.push(`X-Long: ${'l'.repeat(random.between(1_000, limits.headBytesMax - 2_000))}`)
  if (random.chance(0.02)) lines.push(...Array(limits.fieldsMax - 20).fill('X-Many: 1'))
  return lines
}

function target(random: Random, id: string, isRouted: boolean): string {
  const path = random.pick(['', '', '/x/..', '/.', '/%7e'])
  const query = random.pick(['', '', '?q=1', '?/../#'.slice(0, 5)])
  const form = `${path}/e/${id}${query}`
  return random.chance(0.1) ? `http://${isRouted ? 'a.test' : 'none.test'}${form}` : form
}

function inChunks(random: Random, body: string, trailers: string): string {
  let text = ''
  let at = 0
  while (at < body.length) {
    const length = Math.min(body.length - at, 1 + random.skewed(body.length))
    const extension = random.chance(0.1) ? ';name=value' : ''
    const size = random.pick([length.toString(16), `000${length.toString(16).toUpperCase()}`])
    text += `${size}${extension}\r\n${body.slice(at, at + length)}\r\n`
    at += length
  }
  return `${text}0\r\n${trailers}\r\n`
}

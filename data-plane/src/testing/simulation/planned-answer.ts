/** What servers answer: right in all framings, or wrong, short, long, late or never. */

import type { Random } from '../random.ts'
import { bodyOf, type PlannedRequest } from './planned-request.ts'
import { NO_TRAILERS, pickTrailers } from './planned-trailers.ts'

export interface PlannedAnswer {
  /** Its place in the request's answers, sent as X-Answer. */
  readonly turn: number
  readonly statusLine: string
  readonly body: string
  /** The lines after its last chunk that may go on. */
  readonly trailers: string
  /** The client may see it complete. */
  readonly isWhole: boolean
  /** Its end is the connection's. */
  readonly isUntilClose: boolean
  /** 1xx heads, then the answer, in the order in which they are sent. */
  readonly bytes: Buffer
  /** Where two bytes begin that arrive together, so that it shows at once when too much comes; -1: nowhere. */
  readonly pairAt: number
  /** What follows the last byte. */
  readonly ending: 'stay' | 'fin' | 'close' | 'reset' | 'silence'
}

const STATUSES = [
  '200 OK',
  '200 OK',
  '200 OK',
  '404 Not Found',
  '503 Busy',
  '204 No Content',
  '304 Not Modified',
]
const EXTRA_LINES = [
  'Date: now',
  'Set-Cookie: a=b',
  'Keep-Alive: timeout=5',
  'Keep-Alive: timeout=1',
  'X-Latin: \xe9',
  'X-Loose \t: y',
]

const LAST_CHUNK = '0\r\n\r\n'

/** By request id and turn. */
const MALFORMED_HEADS: readonly ((id: string) => string)[] = [
  () => 'nonsense\r\n\r\n',
  () => 'HTTP/1.1 20 OK\r\n\r\n',
  () => 'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n',
  () => 'HTTP/2.0 200 OK\r\nContent-Length: 0\r\n\r\n',
  () => 'HTTP/1.1 200 OK\nContent-Length: 0\n\n',
  () => 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab',
  () => 'HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n',
  () => 'HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n',
  () => 'HTTP/1.1 200 OK\r\nX y\r\nContent-Length: 0\r\n\r\n',
  () => 'HTTP/1.1 200 OK\r\nX: y\r\n folded\r\nContent-Length: 0\r\n\r\n',
  (id) => `HTTP/1.0 200 OK\r\nX-Id: ${id}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
  (id) => `HTTP/1.1 200 OK\r\nX-Id: ${id}\r\nX: ${'a'.repeat(33_000)}\r\n\r\n`,
]

/** What stands in the last chunk's place, and what of it may be passed on before the fault is seen. */
const MALFORMED_CHUNKS = [
  ['0\n\r\n', ''],
  ['g\r\n', ''],
  ['0\r\n x\r\n\r\n', ''],
  ['5\r\nhello!\r\n0\r\n\r\n', 'hello'],
] as const

export function planAnswer(
  random: Random,
  request: PlannedRequest,
  isCalm: boolean,
): PlannedAnswer {
  const choice = isCalm ? 1 : random.fraction()
  if (choice < 0.04) return unusable(random, request, random.pick(MALFORMED_HEADS)(request.id))
  if (choice < 0.08)
    return {
      ...unusable(random, request, ''),
      ending: random.pick(['fin', 'close', 'reset', 'silence'] as const),
    }
  return usable(random, request, isCalm, choice)
}

function unusable(random: Random, request: PlannedRequest, text: string): PlannedAnswer {
  return {
    turn: request.answers.length,
    statusLine: '',
    body: '',
    trailers: '',
    isWhole: false,
    isUntilClose: false,
    bytes: Buffer.from(text, 'latin1'),
    pairAt: -1,
    ending: random.pick(['stay', 'fin', 'close', 'reset'] as const),
  }
}

function usable(
  random: Random,
  request: PlannedRequest,
  isCalm: boolean,
  choice: number,
): PlannedAnswer {
  const turn = request.answers.length
  const status = random.pick(STATUSES)
  const isBodiless =
    request.method === 'HEAD' || status.startsWith('204') || status.startsWith('304')
  const framing = random.pick([
    'length',
    'length',
    'chunked',
    'chunked',
    'until-close',
    'old',
  ] as const)
  const body = isBodiless ? '' : bodyOf(`${request.id}/${turn}`, bodyLength(random))
  const isLast = framing === 'until-close' || random.chance(0.1)
  const lines = [`X-Id: ${request.id}`, `X-Answer: ${turn}`]
  for (const line of EXTRA_LINES) if (random.chance(0.1)) lines.push(line)
  if (random.chance(0.1)) lines.push('Connection: x-hop', 'X-Hop: 1')
  if (isLast && (isCalm || random.chance(0.8))) lines.push('Connection: close')
  if (framing === 'chunked') lines.push('Transfer-Encoding: chunked')
  else if (framing !== 'until-close' && (!isBodiless || random.chance(0.5))) {
    lines.push(`Content-Length: ${isBodiless ? 77 : body.length}`)
  } else if (framing === 'old') lines.push('X-Old: 1')
  const statusLine = `HTTP/1.${framing === 'old' ? 0 : 1} ${status}`
  const head = `${interims(random, request)}${statusLine}\r\n${lines.join('\r\n')}\r\n\r\n`
  const isChunked = framing === 'chunked' && !isBodiless
  const { sent: sentTrailers, kept: trailers } = isChunked ? pickTrailers(random) : NO_TRAILERS
  const sent = isChunked ? inChunks(random, body, sentTrailers) : body
  const isUntilClose = !isBodiless && !lines.some((line) => /^(Content-L|Transfer-E)/.test(line))
  const whole = {
    turn,
    statusLine: `HTTP/1.1 ${status}`,
    body,
    trailers,
    isWhole: true,
    isUntilClose,
    bytes: Buffer.from(head + sent, 'latin1'),
    pairAt: -1,
    ending: isUntilClose || isLast ? random.pick(['fin', 'close'] as const) : 'stay',
  } as const
  if (isCalm || choice > 0.3) return whole
  return spoilt(random, whole, isChunked ? LAST_CHUNK.length + sentTrailers.length : 0)
}

/** `lastChunkLength`: with trailers; 0 for other framings. */
function spoilt(random: Random, whole: PlannedAnswer, lastChunkLength: number): PlannedAnswer {
  const { isUntilClose } = whole
  const choice = random.fraction()
  // It ends as it should, but without having announced it.
  if (choice < 0.25 && !isUntilClose)
    return { ...whole, ending: random.pick(['fin', 'close', 'reset'] as const) }
  if (choice < 0.45 && !isUntilClose) {
    const extra = Buffer.from('HTTP/1.1 200 OK\r\nX-Id: evil\r\nContent-Length: 0\r\n\r\n')
    const bytes = Buffer.concat([whole.bytes, extra.subarray(0, random.between(1, extra.length))])
    return { ...whole, bytes, pairAt: whole.bytes.length - 1 }
  }
  if (choice < 0.6 && lastChunkLength > 0) {
    const text = whole.bytes.toString('latin1').slice(0, -lastChunkLength)
    const [rest, passed] = random.pick(MALFORMED_CHUNKS)
    const bytes = Buffer.from(text + rest, 'latin1')
    return { ...whole, body: whole.body + passed, isWhole: false, bytes, ending: 'stay' }
  }
  const bytes = whole.bytes.subarray(0, random.between(1, whole.bytes.length - 1))
  const endings = isUntilClose
    ? (['reset', 'silence'] as const)
    : (['fin', 'close', 'reset', 'silence'] as const)
  return { ...whole, isWhole: false, bytes, ending: random.pick(endings) }
}

function interims(random: Random, request: PlannedRequest): string {
  let text = ''
  while (random.chance(0.12)) {
    const status = random.pick(['100 Continue', '102 Processing', '103 Early Hints'])
    text += `HTTP/1.1 ${status}\r\nX-Id: ${request.id}\r\n\r\n`
  }
  return text
}

function bodyLength(random: Random): number {
  if (random.chance(0.15)) return 0
  return random.chance(0.03) ? random.skewed(600_000) : random.skewed(6_000)
}

function inChunks(random: Random, body: string, trailers: string): string {
  let text = ''
  let at = 0
  while (at < body.length) {
    const length = Math.min(body.length - at, 1 + random.skewed(body.length))
    text += `${length.toString(16)}\r\n${body.slice(at, at + length)}\r\n`
    at += length
  }
  return `${text}0\r\n${trailers}\r\n`
}

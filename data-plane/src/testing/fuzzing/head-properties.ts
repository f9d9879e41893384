/** What must hold for HeadParser, whatever bytes it is given. */
import { BlockList } from 'node:net'
import { limits } from '../../limits.ts'
import { AnswerWriter } from '../../worker/exchange/answer-writer.ts'
import { type Peer, Request } from '../../worker/exchange/request.ts'
import { HeadParser, INCOMPLETE } from '../../worker/http1/head-parser.ts'
import { OutputBuffer } from '../../worker/http1/output-buffer.ts'
import { type Transport, WriteResult } from '../../worker/transport/transport.ts'
import type { Random } from '../random.ts'
import { expectOf } from './fuzz-fault.ts'

type Kind = 'request' | 'answer'

/** Bytes that would change a verdict if they were read. */
const SURROUNDINGS = ['\r\n\r\n', 'GET ', '\0\0\0\0', ': x\n'] as const
const REFUSALS = new Set([-400, -414, -431, -501, -505, -502])
/** What Request adds to a head: three lines at most, and their values. */
const ADDED_BYTES_MAX = 1_000
const ADDED_FIELDS_MAX = 4
const EVERYBODY = new BlockList()
EVERYBODY.addSubnet('::', 0, 'ipv6')
const PEERS: readonly Peer[] = [
  { address: '192.0.2.1', trustedPeers: undefined, scheme: 'http' },
  { address: '2001:db8::1', trustedPeers: EVERYBODY, scheme: 'https' },
]

const parser = new HeadParser()
const second = new HeadParser()

export function checkHead(random: Random, kind: Kind, input: Buffer): void {
  const verdict = parse(parser, kind, input, 0, input.length)
  const isKnown = verdict === INCOMPLETE || REFUSALS.has(verdict)
  const isWithin = verdict > 0 && verdict <= input.length
  expectOf(input, isKnown || isWithin, () => `verdict ${verdict}`)
  checkSurroundings(random, kind, input, verdict)
  checkPrefixes(random, kind, input, verdict)
  if (verdict < 0) return
  parse(parser, kind, input, 0, input.length)
  checkOffsets(kind, input, verdict)
  if (kind === 'request') for (const peer of PEERS) checkRequest(input, verdict, peer)
  else checkAnswer(input, verdict)
}

function parse(head: HeadParser, kind: Kind, bytes: Buffer, from: number, to: number): number {
  return kind === 'request' ? head.parseRequest(bytes, from, to) : head.parseAnswer(bytes, from, to)
}

/** The same bytes elsewhere, between others, are the same head. */
function checkSurroundings(random: Random, kind: Kind, input: Buffer, verdict: number): void {
  const before = Buffer.from(random.pick(SURROUNDINGS), 'latin1')
  const after = Buffer.from(random.pick(SURROUNDINGS), 'latin1')
  const bytes = Buffer.concat([before, input, after])
  const moved = parse(second, kind, bytes, before.length, before.length + input.length)
  const expected = verdict > 0 ? verdict + before.length : verdict
  expectOf(input, moved === expected, () => `${verdict} becomes ${moved} when moved`)
}

/** Once a part is enough for a verdict, more bytes do not change it. */
function checkPrefixes(random: Random, kind: Kind, input: Buffer, verdict: number): void {
  const isShort = input.length <= 200
  const tries = isShort ? input.length : 40
  for (let index = 0; index < tries; index += 1) {
    const length = isShort ? index : someLength(random, input.length)
    const early = parse(second, kind, input, 0, length)
    const isSame = early === INCOMPLETE || early === verdict
    expectOf(input, isSame, () => `${early} after ${length} bytes, ${verdict} after all`)
    expectOf(input, early <= length, () => `${early} is beyond ${length}`)
    const isEnough = verdict > 0 && length >= verdict
    expectOf(input, !isEnough || early === verdict, () => `${early} although the head is there`)
  }
}

/** Often next to a limit. */
function someLength(random: Random, below: number): number {
  if (random.chance(0.5)) return random.between(0, below - 1)
  const limit = random.pick([limits.requestLineBytesMax, limits.headBytesMax])
  return Math.min(below - 1, limit + random.between(-4, 8))
}

function checkOffsets(kind: Kind, input: Buffer, end: number): void {
  const marks =
    kind === 'request'
      ? [parser.methodStart, parser.methodEnd, parser.targetStart, parser.targetEnd]
      : [parser.reasonStart, parser.reasonEnd]
  for (let index = 0; index < parser.fieldCount; index += 1) {
    const isNamed = (parser.nameStarts[index] ?? 0) < (parser.nameEnds[index] ?? 0)
    expectOf(input, isNamed, () => 'a field without a name')
    marks.push(parser.nameStarts[index] ?? -1, parser.nameEnds[index] ?? -1)
    marks.push(parser.valueStarts[index] ?? -1, parser.valueEnds[index] ?? -1)
  }
  marks.push(parser.fieldsEnd, end)
  const areInOrder = marks.every((mark, index) => mark >= (marks[index - 1] ?? 0))
  expectOf(input, areInOrder, () => `offsets ${marks}`)
}

/** What is sent to a server is a head that says the same. */
function checkRequest(input: Buffer, end: number, peer: Peer): void {
  const request = new Request()
  parser.parseRequest(input, 0, input.length)
  const status = request.read(parser, input, 0, end, peer)
  expectOf(input, status === 0 || status === 400 || status === 501, () => `status ${status}`)
  if (status !== 0) return
  const isFull =
    end > limits.headBytesMax - ADDED_BYTES_MAX ||
    parser.fieldCount > limits.fieldsMax - ADDED_FIELDS_MAX
  if (isFull) return
  const sent = Buffer.from(request.headFor(request.host === '' ? 'server' : undefined), 'latin1')
  const again = second.parseRequest(sent, 0, sent.length)
  const says = () => `${again} for ${JSON.stringify(sent.toString('latin1'))}`
  expectOf(input, again === sent.length, says)
  const sentRequest = new Request()
  expectOf(input, sentRequest.read(second, sent, 0, again, peer) === 0, says)
  const isSame =
    second.bodyLength === parser.bodyLength &&
    second.minorVersion === 1 &&
    (parser.contentLength <= 0 || second.contentLength === parser.contentLength) &&
    sentRequest.method === request.method &&
    sentRequest.path === request.path &&
    (request.host === '' || sentRequest.canonicalHost === request.canonicalHost)
  expectOf(input, isSame, () => `another request: ${says()}`)
}

/** What is sent to a client is a head that it finds the body's end by. */
function checkAnswer(input: Buffer, end: number): void {
  if (end > limits.headBytesMax - ADDED_BYTES_MAX || parser.fieldCount >= limits.fieldsMax - 2)
    return
  const output = new OutputBuffer()
  const writer = new AnswerWriter(output, { onBehind() {} })
  writer.head(parser, input, 0, end, parser.bodyLength, new Request(), true)
  const sent = taken(output)
  const again = second.parseAnswer(sent, 0, sent.length)
  const says = () => `${again} for ${JSON.stringify(sent.toString('latin1'))}`
  expectOf(input, again === sent.length, says)
  const isSame = second.status === parser.status && second.hasClose && !second.hasBothLengths
  expectOf(input, isSame, says)
}

/** What an output buffer holds. */
function taken(output: OutputBuffer): Buffer {
  let bytes = Buffer.alloc(0)
  const transport: Pick<Transport, 'write'> = {
    write(written, length) {
      bytes = Buffer.from(written.subarray(0, length))
      return WriteResult.DONE
    },
  }
  output.flush(transport as Transport)
  return bytes
}

/** What must hold for ChunkedDecoder, whatever bytes it is given. */
import { limits } from '../../limits.ts'
import { ChunkedDecoder, ChunkStep } from '../../worker/http1/chunked-decoder.ts'
import type { Random } from '../random.ts'
import { expectOf } from './fuzz-fault.ts'

interface Decoding {
  readonly verdict: 'ended' | 'malformed' | 'more'
  /** Once it has ended, followed by its trailers. */
  readonly data: string
  /** Where the body ended. */
  readonly end: number
}

export function checkChunks(random: Random, input: Buffer): void {
  const whole = decode(input, () => input.length)
  const split = decode(input, (at) => Math.min(input.length, at + random.between(1, 9)))
  const single = decode(input, (at) => at + 1)
  expectOf(input, isSame(whole, split), () => `another result in pieces`)
  expectOf(input, isSame(whole, single), () => `another result byte by byte`)
  const { verdict, data, end } = reference(input.toString('latin1'))
  expectOf(input, whole.verdict === verdict, () => `${whole.verdict}, should be ${verdict}`)
  expectOf(input, whole.data === data, () => `${JSON.stringify(whole.data)}, not ${data}`)
  expectOf(input, verdict !== 'ended' || whole.end === end, () => `ends at ${whole.end}`)
}

function isSame(one: Decoding, other: Decoding): boolean {
  return one.verdict === other.verdict && one.data === other.data && one.end === other.end
}

/** `nextCut`: where the read ends that begins at an offset. */
function decode(input: Buffer, nextCut: (at: number) => number): Decoding {
  const decoder = new ChunkedDecoder()
  let data = ''
  let at = 0
  while (at < input.length) {
    const to = nextCut(at)
    while (at < to) {
      const step = decoder.step(input, at, to)
      if (step === ChunkStep.MALFORMED) return { verdict: 'malformed', data, end: -1 }
      expectOf(input, decoder.at > at && decoder.at <= to, () => `at ${decoder.at} of ${to}`)
      if (step === ChunkStep.ENDED) {
        return { verdict: 'ended', data: data + decoder.trailers, end: decoder.at }
      }
      if (step === ChunkStep.DATA) {
        const { dataStart, dataEnd } = decoder
        const isWithin = dataStart >= at && dataEnd > dataStart && dataEnd <= decoder.at
        expectOf(input, isWithin, () => `data ${dataStart} to ${dataEnd}`)
        data += input.toString('latin1', dataStart, dataEnd)
      }
      at = decoder.at
    }
  }
  return { verdict: 'more', data, end: -1 }
}

const SIZE_LINE = /^([0-9A-Fa-f]+)(;[\t\x20-\x7e\x80-\xff]*)?\r\n/
/** What may yet become a size line. */
const SIZE_LINE_PART = /^(?:[0-9A-Fa-f]+(?:;[\t\x20-\x7e\x80-\xff]*)?\r?)?$/
/** Like a field of a head. */
const TRAILER_LINE = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+:[\t\x20-\x7e\x80-\xff]*\r\n/
const TRAILER_LINE_PART = /^(?:\r|[!#$%&'*+\-.^_`|~0-9A-Za-z]+(?::[\t\x20-\x7e\x80-\xff]*\r?)?)?$/

/** RFC 9112 section 7.1 with this proxy's limits, by regular expressions. */
function reference(text: string): Decoding {
  let data = ''
  let at = 0
  const malformed = () => ({ verdict: 'malformed', data, end: -1 }) as const
  const more = () => ({ verdict: 'more', data, end: -1 }) as const
  for (;;) {
    const rest = text.slice(at)
    const line = SIZE_LINE.exec(rest)
    const head = line?.[0] ?? rest
    const digits = /^[0-9A-Fa-f]*/.exec(rest)?.[0] ?? ''
    const size = digits === '' ? 0 : Number.parseInt(digits, 16)
    if (digits.length > limits.chunkSizeDigitsMax || size > Number.MAX_SAFE_INTEGER)
      return malformed()
    // Counted up to the CR, without the semicolon.
    const lineBytes = head.includes(';') ? head.replace(/\n$/, '').length - 1 : 0
    if (lineBytes > limits.chunkLineBytesMax) return malformed()
    if (line === null) return SIZE_LINE_PART.test(rest) ? more() : malformed()
    at += head.length
    if (size === 0) return trailers(text, at, data)
    data += text.slice(at, at + size)
    at += size
    const end = text.slice(at, at + 2)
    if (end !== '\r\n') return '\r\n'.startsWith(end) ? more() : malformed()
    at += 2
  }
}

function trailers(text: string, from: number, data: string): Decoding {
  let at = from
  for (;;) {
    const rest = text.slice(at)
    if (rest.startsWith('\r\n')) {
      const isShort = at + 2 - from <= limits.trailerBytesMax
      return isShort
        ? { verdict: 'ended', data: data + text.slice(from, at), end: at + 2 }
        : { verdict: 'malformed', data, end: -1 }
    }
    const line = TRAILER_LINE.exec(rest)
    const isLong = at + (line?.[0].length ?? rest.length) - from > limits.trailerBytesMax
    if (isLong || (line === null && !TRAILER_LINE_PART.test(rest))) {
      return { verdict: 'malformed', data, end: -1 }
    }
    if (line === null) return { verdict: 'more', data, end: -1 }
    at += line[0].length
  }
}

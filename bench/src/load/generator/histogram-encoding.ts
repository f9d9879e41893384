/**
 * HdrHistogram's compressed form, version 2, as base64 ("HISTFAAAA…"): a head, then the counts as ZigZag
 * LEB128 numbers, where a negative one is a run of zeros, deflated. Other HdrHistogram libraries read it.
 */
import { deflateSync, inflateSync } from 'node:zlib'

const PLAIN_COOKIE = 0x1c849313
const COMPRESSED_COOKIE = 0x1c849314
const HEAD_BYTES = 40
const COMPRESSED_HEAD_BYTES = 8
const DIGITS = 3
const NUMBER_BYTES_MAX = 9
/** Longer ones are no histogram of ours: 32,768 counters of 9 bytes would be less. */
const PLAIN_BYTES_MAX = 1 << 20

export function encodeCounts(
  counts: Uint32Array,
  { valueMax }: { readonly valueMax: number },
): string {
  const plain = Buffer.allocUnsafe(HEAD_BYTES + (counts.length + 1) * NUMBER_BYTES_MAX)
  const end = writeCounts(plain, counts)
  plain.writeInt32BE(PLAIN_COOKIE, 0)
  plain.writeInt32BE(end - HEAD_BYTES, 4)
  plain.writeInt32BE(0, 8)
  plain.writeInt32BE(DIGITS, 12)
  plain.writeBigInt64BE(1n, 16)
  plain.writeBigInt64BE(BigInt(valueMax), 24)
  plain.writeDoubleBE(1, 32)
  const packed = deflateSync(plain.subarray(0, end))
  const head = Buffer.allocUnsafe(COMPRESSED_HEAD_BYTES)
  head.writeInt32BE(COMPRESSED_COOKIE, 0)
  head.writeInt32BE(packed.length, 4)
  return Buffer.concat([head, packed]).toString('base64')
}

/** Calls `onCount` with each index and count that is not 0. */
export function decodeCounts(
  text: string,
  onCount: (index: number, count: number) => void,
): { readonly valueMax: number } {
  const packed = Buffer.from(text, 'base64')
  if (packed.length < COMPRESSED_HEAD_BYTES || packed.readInt32BE(0) !== COMPRESSED_COOKIE) {
    throw new Error('not a compressed HdrHistogram of version 2')
  }
  const length = packed.readInt32BE(4)
  const plain = inflateSync(
    packed.subarray(COMPRESSED_HEAD_BYTES, COMPRESSED_HEAD_BYTES + length),
    { maxOutputLength: PLAIN_BYTES_MAX },
  )
  if (plain.length < HEAD_BYTES || plain.readInt32BE(0) !== PLAIN_COOKIE) {
    throw new Error('the HdrHistogram holds no counts of version 2')
  }
  const digits = plain.readInt32BE(12)
  if (digits !== DIGITS || plain.readBigInt64BE(16) !== 1n) {
    throw new Error(`an HdrHistogram of ${digits} digits where ${DIGITS} and unit 1 are read`)
  }
  readCounts(plain, HEAD_BYTES + plain.readInt32BE(4), onCount)
  return { valueMax: Number(plain.readBigInt64BE(24)) }
}

function writeCounts(bytes: Buffer, counts: Uint32Array): number {
  let at = HEAD_BYTES
  let zeros = 0
  for (const count of counts) {
    if (count === 0) {
      zeros += 1
      continue
    }
    if (zeros > 0) at = writeNumber(bytes, at, zeros * 2 - 1)
    zeros = 0
    at = writeNumber(bytes, at, count * 2)
  }
  return at
}

/** By division, since a ZigZag count may need more than 32 bits. */
function writeNumber(bytes: Buffer, from: number, value: number): number {
  let at = from
  let rest = value
  while (rest >= 0x80) {
    bytes[at] = (rest % 0x80) | 0x80
    rest = Math.floor(rest / 0x80)
    at += 1
  }
  bytes[at] = rest
  return at + 1
}

function readCounts(
  bytes: Buffer,
  end: number,
  onCount: (index: number, count: number) => void,
): void {
  let index = 0
  let at = HEAD_BYTES
  while (at < end) {
    let value = 0
    let scale = 1
    let byte = 0x80
    while (byte >= 0x80) {
      if (at >= end) throw new Error('the HdrHistogram ends within a count')
      byte = bytes[at] ?? 0
      value += (byte & 0x7f) * scale
      scale *= 0x80
      at += 1
    }
    if (value % 2 === 1) {
      index += (value + 1) / 2
    } else {
      onCount(index, value / 2)
      index += 1
    }
  }
}

/**
 * Counts by index with a sum, packed as the database holds them: variable-length numbers (seven bits a byte, the
 * lowest first, the high bit set on all but the last), the sum first, then for each index that has a count its
 * distance from the one before and its count. Read from the wire and merged without anything in between, since a
 * control plane does so for each router of each node, several times a minute.
 */
import type { Breakdown, Histogram } from '@sluice/proto'
import { breakdownCodesMax } from './breakdown.ts'
import { bucketsMax } from './histogram.ts'

const indicesMax = Math.max(bucketsMax, breakdownCodesMax)
/** 2^53 has 54 bits. */
const numberBytesMax = 8

export type PackedReading =
  | { readonly kind: 'read'; readonly packed: Uint8Array }
  | { readonly kind: 'refused'; readonly field: string; readonly reason: string }

interface Bounds {
  readonly countMax: bigint
  readonly sumMax: bigint
}

export const packedNothing: Uint8Array = Uint8Array.of(0)

/** Checks a histogram from the wire and packs it; an absent one is empty. */
export function packHistogram(
  field: 'latency' | 'firstByte',
  wire: Histogram | undefined,
  bounds: Bounds,
): PackedReading {
  if (wire === undefined) return { kind: 'read', packed: packedNothing }
  const names = { deltas: `${field}.indexDeltas`, counts: `${field}.counts` }
  const { indexDeltas, counts, sumUs } = wire
  if (indexDeltas.length !== counts.length) {
    return refused(names.counts, 'has not as many entries as indexDeltas')
  }
  if (sumUs > bounds.sumMax) return refused(`${field}.sumUs`, `is above ${bounds.sumMax}`)
  return packWire(indexDeltas, counts, { ...bounds, names, sum: Number(sumUs), limit: bucketsMax })
}

/** Checks counts by the codes of a breakdown and packs them; an absent one is empty. */
export function packBreakdown(
  wire: Breakdown | undefined,
  { countMax }: Pick<Bounds, 'countMax'>,
): PackedReading {
  if (wire === undefined) return { kind: 'read', packed: packedNothing }
  const names = { deltas: 'breakdown.codeDeltas', counts: 'breakdown.counts' }
  const { codeDeltas, counts } = wire
  if (codeDeltas.length !== counts.length) {
    return refused(names.counts, 'has not as many entries as codeDeltas')
  }
  return packWire(codeDeltas, counts, { countMax, names, sum: 0, limit: breakdownCodesMax })
}

/** Both from `pack`; what comes out counts what both count. */
export function mergePacked(a: Uint8Array, b: Uint8Array): Uint8Array {
  one.read(a)
  other.read(b)
  writer.begin(one.sum + other.sum)
  while (one.count > 0 || other.count > 0) {
    if (one.index === other.index) {
      writer.add(one.index, one.count + other.count)
      one.next()
      other.next()
    } else {
      const first = one.index < other.index ? one : other
      writer.add(first.index, first.count)
      first.next()
    }
  }
  return writer.end()
}

interface WireList {
  readonly countMax: bigint
  readonly names: { readonly deltas: string; readonly counts: string }
  readonly sum: number
  /** Indices are below it. */
  readonly limit: number
}

function packWire(
  deltas: readonly number[],
  counts: readonly bigint[],
  { countMax, names, sum, limit }: WireList,
): PackedReading {
  writer.begin(sum)
  let index = 0
  for (let at = 0; at < deltas.length; at += 1) {
    const delta = deltas[at] ?? 0
    const count = counts[at] ?? 0n
    if (at > 0 && delta === 0)
      return refused(`${names.deltas}[${at}]`, 'repeats the entry before it')
    index += delta
    if (index >= limit) return refused(`${names.deltas}[${at}]`, `leads beyond ${limit - 1}`)
    if (count > countMax) return refused(`${names.counts}[${at}]`, `is above ${countMax}`)
    if (count > 0n) writer.add(index, Number(count))
  }
  return { kind: 'read', packed: writer.end() }
}

function refused(field: string, reason: string): PackedReading {
  return { kind: 'refused', field, reason }
}

/** Packs in memory that is used again; what it returns is a copy, of Node's pool of small buffers. */
class Writer {
  readonly #bytes = Buffer.alloc((1 + 2 * indicesMax) * numberBytesMax)
  #length = 0
  #index = 0

  begin(sum: number): void {
    this.#length = 0
    this.#index = 0
    this.#number(sum)
  }

  /** Indices ascend. */
  add(index: number, count: number): void {
    this.#number(index - this.#index)
    this.#number(count)
    this.#index = index
  }

  end(): Uint8Array {
    const packed = Buffer.allocUnsafe(this.#length)
    this.#bytes.copy(packed, 0, 0, this.#length)
    return packed
  }

  /** With arithmetic where bit operations end, since counts may pass 32 bits. */
  #number(number: number): void {
    let rest = number
    while (rest >= 128) {
      this.#bytes[this.#length++] = (rest % 128) + 128
      rest = Math.floor(rest / 128)
    }
    this.#bytes[this.#length++] = rest
  }
}

/** Goes over what is packed; at its end the count is 0 and the index beyond all others. */
class Reader {
  sum = 0
  index = 0
  count = 0
  #bytes: Uint8Array = packedNothing
  #at = 0

  read(packed: Uint8Array): void {
    this.#bytes = packed
    this.#at = 0
    this.index = 0
    this.sum = this.#number()
    this.next()
  }

  next(): void {
    if (this.#at >= this.#bytes.length) {
      this.count = 0
      this.index = Number.MAX_SAFE_INTEGER
      return
    }
    this.index += this.#number()
    this.count = this.#number()
  }

  #number(): number {
    let number = 0
    let scale = 1
    for (;;) {
      const byte = this.#bytes[this.#at++] ?? 0
      if (byte < 128) return number + byte * scale
      number += (byte - 128) * scale
      scale *= 128
    }
  }
}

const writer = new Writer()
const one = new Reader()
const other = new Reader()

/**
 * The bucket arithmetic of sluice.v1 Histogram, and histograms that can be merged, packed for the
 * database and asked for percentiles. Percentiles of merged histograms are exact to the bucket;
 * percentiles of percentiles would be wrong, so none are ever stored.
 */

const linearBuckets = 64
const bucketsPerDoubling = 32
const windowMin = 32
const empty = new Float64Array(0)

/** Indices are below this: the last bucket ends at 2^53 microseconds, the end of exact numbers. */
export const bucketsMax = 1_568

/** The bucket that a whole number of microseconds belongs to. */
export function bucketOf(valueUs: number): number {
  if (valueUs < linearBuckets) {
    return valueUs
  }
  const exponent = Math.floor(Math.log2(valueUs))
  // The logarithm of a number just below a power of two can round up to it.
  const doubling = 2 ** exponent > valueUs ? exponent - 1 : exponent
  return (doubling - 5) * bucketsPerDoubling + Math.floor(valueUs / 2 ** (doubling - 5))
}

/** The first value of a bucket. */
export function bucketStart(index: number): number {
  if (index < linearBuckets) {
    return index
  }
  return (bucketsPerDoubling + (index % bucketsPerDoubling)) * bucketWidth(index)
}

function bucketWidth(index: number): number {
  return index < linearBuckets ? 1 : 2 ** (Math.floor(index / bucketsPerDoubling) - 1)
}

/** The value that stands for all values of a bucket. */
export function bucketMiddle(index: number): number {
  return bucketStart(index) + (bucketWidth(index) - 1) / 2
}

export class LatencyHistogram {
  /** Of the buckets from #start on, up to a place that some bucket was needed at. */
  #counts = empty
  #start = 0
  #count = 0
  #sumUs = 0

  get count(): number {
    return this.#count
  }

  get sumUs(): number {
    return this.#sumUs
  }

  /** Pairs of index and count of the used buckets, ascending. */
  *entries(): Generator<readonly [number, number]> {
    for (let at = 0; at < this.#counts.length; at += 1) {
      const count = this.#counts[at] ?? 0
      if (count > 0) yield [this.#start + at, count]
    }
  }

  get meanUs(): number {
    return this.#count === 0 ? 0 : this.#sumUs / this.#count
  }

  /** Counts whole values of a bucket; their sum is added apart, since a bucket does not tell it. */
  add(index: number, count: number): void {
    let at = index - this.#start
    if (at < 0 || at >= this.#counts.length) {
      this.#cover(index)
      at = index - this.#start
    }
    this.#counts[at] = (this.#counts[at] ?? 0) + count
    this.#count += count
  }

  addSum(sumUs: number): void {
    this.#sumUs += sumUs
  }

  /** The values at or below which these shares (0 to 1, ascending) of all values are; 0 when empty. */
  percentilesUs(shares: readonly number[]): number[] {
    const counts = this.#counts
    let at = 0
    let below = 0
    return shares.map((share) => {
      const rank = Math.max(1, Math.ceil(share * this.#count))
      while (at < counts.length && below + (counts[at] ?? 0) < rank) {
        below += counts[at] ?? 0
        at += 1
      }
      return at === counts.length ? 0 : bucketMiddle(this.#start + at)
    })
  }

  /** Variable-length numbers: the sum, then for each used bucket its distance and its count. */
  pack(): Uint8Array {
    const numbers = [this.#sumUs]
    let previous = 0
    for (let at = 0; at < this.#counts.length; at += 1) {
      const count = this.#counts[at] ?? 0
      if (count > 0) {
        numbers.push(this.#start + at - previous, count)
        previous = this.#start + at
      }
    }
    return packNumbers(numbers)
  }

  /** Latencies of one thing are near each other, so a window over them is small, and needs no sorting. */
  #cover(index: number): void {
    const old = this.#counts
    const start = old.length === 0 ? index : Math.min(this.#start, index)
    const end = old.length === 0 ? index + 1 : Math.max(this.#start + old.length, index + 1)
    // Twice what there was, so that many steps of growth cost no more than the last one.
    const counts = new Float64Array(Math.max(end - start, 2 * old.length, windowMin))
    counts.set(old, old.length === 0 ? 0 : this.#start - start)
    this.#counts = counts
    this.#start = start
  }

  /** Adds what `pack` made. Called for each row of a query, so nothing is allocated on the way. */
  mergePacked(packed: Uint8Array): void {
    let number = 0
    let scale = 1
    let position = 0
    let index = 0
    for (const byte of packed) {
      number += (byte % 128) * scale
      scale *= 128
      if (byte >= 128) {
        continue
      }
      if (position === 0) {
        this.#sumUs += number
      } else if (position % 2 === 1) {
        index += number
      } else {
        this.add(index, number)
      }
      position += 1
      number = 0
      scale = 1
    }
  }
}

// Seven bits a byte, lowest first, the high bit set on all but the last. With arithmetic instead of bit
// operations, since counts may pass 32 bits.
function packNumbers(numbers: readonly number[]): Uint8Array {
  const bytes: number[] = []
  for (const number of numbers) {
    let rest = number
    while (rest >= 128) {
      bytes.push((rest % 128) + 128)
      rest = Math.floor(rest / 128)
    }
    bytes.push(rest)
  }
  return Uint8Array.from(bytes)
}

/**
 * Counts of whole microseconds in the buckets of an HdrHistogram from 1 µs to 60 s with three significant
 * digits: a value's bucket is at most 0.1 % wide. What is longer is counted at the top, never dropped.
 * Hot: record.
 */
import type { LatencySummary } from '../load-plan.ts'
import { encodeCounts } from './histogram-encoding.ts'

export const VALUE_MAX_US = 60_000_000
/** 2 × 10³ values, rounded up to a power of two, are told apart in each bucket. */
export const SUB_BUCKETS = 2048
const HALF_BITS = 10
const HALF = 1 << HALF_BITS
const LEADING_ZEROS = Math.clz32(SUB_BUCKETS - 1)
/** Past this share of the top, a value may as well have been longer. */
const SATURATED_SHARE = 0.98

export const BUCKETS = bucketsUpTo(VALUE_MAX_US)
const COUNTS = (BUCKETS + 1) * HALF

function bucketsUpTo(value: number): number {
  let buckets = 1
  for (let top = SUB_BUCKETS; top <= value; top *= 2) buckets += 1
  return buckets
}

export function indexOf(us: number): number {
  const bucket = LEADING_ZEROS - Math.clz32(us | (SUB_BUCKETS - 1))
  return bucket * HALF + (us >>> bucket)
}

/** The least and the greatest value that are counted at an index. */
export function lowestAt(index: number): number {
  const bucket = Math.max(0, (index >>> HALF_BITS) - 1)
  return (index - bucket * HALF) * 2 ** bucket
}

export function highestAt(index: number): number {
  return lowestAt(index + 1) - 1
}

export class Histogram {
  readonly counts: Uint32Array
  count = 0
  sum = 0
  /** Exact, but for what was clamped. */
  max = 0

  constructor(counts: Uint32Array = new Uint32Array(COUNTS)) {
    this.counts = counts
  }

  record(us: number): void {
    const value = us < 1 ? (us > 0 ? 1 : 0) : us > VALUE_MAX_US ? VALUE_MAX_US : Math.round(us)
    const index = indexOf(value)
    this.counts[index] = (this.counts[index] ?? 0) + 1
    this.count += 1
    this.sum += value
    if (value > this.max) this.max = value
  }

  /** A histogram of what was counted so far; this one starts anew. */
  take(): Histogram {
    const used = this.count === 0 ? 0 : indexOf(this.max) + 1
    const taken = new Histogram(this.counts.slice(0, used))
    taken.count = this.count
    taken.sum = this.sum
    taken.max = this.max
    this.counts.fill(0, 0, used)
    this.count = 0
    this.sum = 0
    this.max = 0
    return taken
  }

  add(other: Histogram): void {
    for (let index = 0; index < other.counts.length; index += 1) {
      const count = other.counts[index] ?? 0
      if (count > 0) this.counts[index] = (this.counts[index] ?? 0) + count
    }
    this.count += other.count
    this.sum += other.sum
    this.max = Math.max(this.max, other.max)
  }

  /** The value that the given share of all values does not exceed; 0 where nothing was counted. */
  valueAt(share: number): number {
    const rank = Math.max(1, Math.ceil(this.count * share - 1e-9))
    let seen = 0
    for (let index = 0; index < this.counts.length; index += 1) {
      seen += this.counts[index] ?? 0
      if (seen >= rank) return Math.min(highestAt(index), this.max)
    }
    return this.max
  }

  /** 0 where nothing was counted. */
  get min(): number {
    return lowestAt(
      Math.max(
        0,
        this.counts.findIndex((count) => count > 0),
      ),
    )
  }

  /** Of all values from their mean, by the middles of their buckets. */
  standardDeviation(): number {
    if (this.count === 0) return 0
    const mean = this.sum / this.count
    const squares = this.counts.reduce((sum, count, index) => {
      const middle = (lowestAt(index) + highestAt(index)) / 2
      return count === 0 ? sum : sum + count * (middle - mean) ** 2
    }, 0)
    return Math.sqrt(squares / this.count)
  }

  /** Mean of the greatest values: of all but the given share. */
  tailMean(share: number): number {
    const wanted = Math.max(1, Math.round(this.count * (1 - share)))
    let left = Math.min(wanted, this.count)
    if (left === 0) return 0
    let sum = 0
    for (let index = this.counts.length - 1; index >= 0 && left > 0; index -= 1) {
      const taken = Math.min(left, this.counts[index] ?? 0)
      if (taken === 0) continue
      sum += (taken * (lowestAt(index) + highestAt(index))) / 2
      left -= taken
    }
    return sum / Math.min(wanted, this.count)
  }

  summary(): LatencySummary {
    return {
      count: this.count,
      mean: this.count === 0 ? 0 : this.sum / this.count,
      p50: this.valueAt(0.5),
      p75: this.valueAt(0.75),
      p90: this.valueAt(0.9),
      p95: this.valueAt(0.95),
      p99: this.valueAt(0.99),
      p999: this.valueAt(0.999),
      max: this.max,
      isSaturated: this.max >= VALUE_MAX_US * SATURATED_SHARE,
      encoded: this.encode(),
    }
  }

  encode(): string {
    const used = this.count === 0 ? 0 : indexOf(this.max) + 1
    return encodeCounts(this.counts.subarray(0, used), { valueMax: VALUE_MAX_US })
  }
}

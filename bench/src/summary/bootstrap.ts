/** Spread of a handful of rounds, and how sure their median is. Same seed, same interval. */

export interface Summary {
  readonly median: number
  readonly min: number
  readonly max: number
  readonly values: readonly number[]
}

export interface Interval {
  readonly low: number
  readonly high: number
}

const RESAMPLES = 1_000

export function summaryOf(values: readonly number[]): Summary | null {
  const sorted = values.filter(Number.isFinite).toSorted((left, right) => left - right)
  const [min] = sorted
  const max = sorted.at(-1)
  if (min === undefined || max === undefined) return null
  return { median: medianOfSorted(sorted), min, max, values }
}

/** The middle 95 % of the medians of samples drawn from the values with replacement. */
export function intervalOf(values: readonly number[], seed = 1): Interval | null {
  if (values.length === 0) return null
  const random = seededRandom(seed)
  const medians = Array.from({ length: RESAMPLES }, () => {
    const drawn = values.map(() => values[Math.floor(random() * values.length)] ?? 0)
    return medianOfSorted(drawn.toSorted((left, right) => left - right))
  }).toSorted((left, right) => left - right)
  const at = (share: number) => medians[Math.round(share * (RESAMPLES - 1))] ?? 0
  return { low: at(0.025), high: at(0.975) }
}

/** Whether more rounds would say nothing new: the interval is narrower than the share of its middle. */
export function isSettled(values: readonly number[], share: number): boolean {
  const interval = intervalOf(values)
  if (interval === null) return false
  const middle = (interval.low + interval.high) / 2
  return middle > 0 && (interval.high - interval.low) / middle < share
}

/** Mulberry32: small, and the same everywhere. */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

function medianOfSorted(sorted: readonly number[]): number {
  const middle = (sorted.length - 1) / 2
  const low = sorted[Math.floor(middle)] ?? 0
  return (low + (sorted[Math.ceil(middle)] ?? low)) / 2
}

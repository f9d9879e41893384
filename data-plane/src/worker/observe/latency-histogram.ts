/**
 * The buckets of sluice.v1 Histogram: one for each microsecond below 64, then 32 for each power of two, so
 * that a bucket's middle is at most 1.6 % from any value in it. Hot.
 */

const LINEAR_BUCKETS = 64
const BUCKETS_PER_OCTAVE = 32
/** About 71 minutes; longer values are counted in the last bucket. */
const VALUE_MAX_US = 2 ** 32 - 1

export const LATENCY_BUCKETS = bucketOf(VALUE_MAX_US) + 1

/** The bucket of a whole number of microseconds. */
export function bucketOf(us: number): number {
  if (us < LINEAR_BUCKETS) return us
  const value = Math.min(us, VALUE_MAX_US) >>> 0
  const octave = 31 - Math.clz32(value) - 5
  return octave * BUCKETS_PER_OCTAVE + (value >>> octave)
}

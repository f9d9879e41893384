import { describe, expect, it } from 'vitest'
import { bucketMiddle, bucketOf, bucketStart, bucketsMax, LatencyHistogram } from './histogram.ts'

/** Numbers between 0 and 1 that are the same in every run. */
function makeRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

function histogramOf(values: readonly number[]): LatencyHistogram {
  const histogram = new LatencyHistogram()
  for (const value of values) {
    histogram.add(bucketOf(value), 1)
    histogram.addSum(value)
  }
  return histogram
}

describe('buckets', () => {
  it('follow each other without gap or overlap', () => {
    for (let index = 0; index < bucketsMax - 1; index += 1) {
      const end = bucketStart(index + 1)
      expect([bucketOf(bucketStart(index)), bucketOf(end - 1)]).toEqual([index, index])
    }
    expect(bucketOf(Number.MAX_SAFE_INTEGER)).toBe(bucketsMax - 1)
  })

  it('start where the protocol says', () => {
    expect([0, 63, 64, 65, 95, 96, 128].map(bucketStart)).toEqual([0, 63, 64, 66, 126, 128, 256])
  })

  it('have a middle that is at most 1.6 % from any of their values', () => {
    for (let index = 64; index < bucketsMax; index += 1) {
      const start = bucketStart(index)
      expect((bucketMiddle(index) - start) / start).toBeLessThan(0.016)
    }
  })
})

describe('percentiles', () => {
  it.each([1, 2, 3])('of merged histograms are those of all values together (seed %i)', (seed) => {
    const random = makeRandom(seed)
    const parts = Array.from({ length: 20 }, () =>
      Array.from({ length: 1 + Math.floor(random() * 500) }, () =>
        Math.floor(50 * Math.exp(random() * 12)),
      ),
    )
    const merged = new LatencyHistogram()
    for (const part of parts) {
      merged.mergePacked(histogramOf(part).pack())
    }
    const sorted = parts.flat().sort((a, b) => a - b)
    const shares = [0.01, 0.5, 0.9, 0.99, 0.999, 1]
    const exact = shares.map((share) => sorted[Math.ceil(share * sorted.length) - 1] ?? 0)
    expect(merged.percentilesUs(shares)).toEqual(exact.map((us) => bucketMiddle(bucketOf(us))))
    expect(merged.count).toBe(sorted.length)
    expect(merged.sumUs).toBe(sorted.reduce((sum, value) => sum + value, 0))
  })

  it('of nothing are 0', () => {
    expect(new LatencyHistogram().percentilesUs([0.5, 1])).toEqual([0, 0])
  })
})

it('packs and unpacks large counts and sums exactly', () => {
  const histogram = new LatencyHistogram()
  histogram.add(0, 2 ** 40)
  histogram.add(1_567, 3)
  histogram.addSum(2 ** 52 + 1)
  const copy = new LatencyHistogram()
  copy.mergePacked(histogram.pack())
  expect([copy.count, copy.sumUs, copy.percentilesUs([0.5])]).toEqual([
    2 ** 40 + 3,
    2 ** 52 + 1,
    [0],
  ])
})

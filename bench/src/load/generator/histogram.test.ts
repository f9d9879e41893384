import {
  build,
  decodeFromCompressedBase64,
  encodeIntoCompressedBase64,
  type Histogram as JsHistogram,
} from 'hdr-histogram-js'
import { describe, expect, it } from 'vitest'
import { Histogram, highestAt, indexOf, lowestAt, VALUE_MAX_US } from './histogram.ts'
import { decodeHistogram, percentileTable } from './histogram-text.ts'

const VALUES = 100_000

/** Latencies as they are: most near one value, some far out. Marsaglia's xorshift32, so that runs are alike. */
function latencies(): number[] {
  let state = 0x9e3779b9
  return Array.from({ length: VALUES }, () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return Math.round(80 / (1 - (state >>> 0) / 2 ** 32) ** 1.2)
  })
}

function both(values: readonly number[]): { ours: Histogram; theirs: JsHistogram } {
  const ours = new Histogram()
  const theirs = build({
    lowestDiscernibleValue: 1,
    highestTrackableValue: VALUE_MAX_US,
    numberOfSignificantValueDigits: 3,
  })
  for (const value of values) {
    ours.record(value)
    theirs.recordValue(Math.min(value, VALUE_MAX_US))
  }
  return { ours, theirs }
}

describe('a histogram', () => {
  it('has the least value and the standard deviation that HdrHistogram has', () => {
    const { ours, theirs } = both(latencies())
    expect(ours.min).toBe(theirs.minNonZeroValue)
    expect(ours.standardDeviation() / theirs.stdDeviation).toBeCloseTo(1, 3)
    expect([new Histogram().min, new Histogram().standardDeviation()]).toEqual([0, 0])
  })

  it('has each value in a bucket that is at most 0.1 % wide', () => {
    for (const value of [0, 1, 2047, 2048, 2049, 4095, 4096, 123_456, 59_999_999, VALUE_MAX_US]) {
      const index = indexOf(value)
      expect(lowestAt(index)).toBeLessThanOrEqual(value)
      expect(highestAt(index)).toBeGreaterThanOrEqual(value)
      expect(highestAt(index) - lowestAt(index)).toBeLessThanOrEqual(Math.max(0, value / 1000))
    }
  })

  it('tells percentiles within 0.1 % of the sorted values', () => {
    const values = latencies()
    const { ours } = both(values)
    const sorted = values.map((value) => Math.min(value, VALUE_MAX_US)).sort((a, b) => a - b)
    for (const share of [0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999, 1]) {
      const exact = sorted[Math.ceil(VALUES * share) - 1]!
      expect(Math.abs(ours.valueAt(share) - exact) / exact).toBeLessThanOrEqual(0.001)
    }
    const slowest = sorted.slice(VALUES / 2)
    const mean = slowest.reduce((sum, value) => sum + value, 0) / slowest.length
    expect(Math.abs(ours.tailMean(0.5) - mean) / mean).toBeLessThanOrEqual(0.001)
  })

  it('counts what is longer than a minute at its top, and says that it did', () => {
    const { ours } = both([5, 61_000_000, 3_600_000_000])
    expect(ours.summary()).toMatchObject({ count: 3, max: VALUE_MAX_US, isSaturated: true })
    expect(both([5]).ours.summary()).toMatchObject({ count: 1, p999: 5, isSaturated: false })
  })

  it('starts anew once its counts were taken, and adds them back', () => {
    const { ours } = both([10, 20_000, 30])
    const taken = ours.take()
    expect([taken.count, taken.max, taken.valueAt(0.5)]).toEqual([3, 20_000, 30])
    expect([ours.count, ours.valueAt(1)]).toEqual([0, 0])
    ours.add(taken)
    expect(ours.encode()).toBe(both([10, 20_000, 30]).ours.encode())
  })
})

describe('the encoded form of a histogram', () => {
  it('is read back as it was', () => {
    const { ours } = both(latencies())
    const encoded = ours.encode()
    expect(encoded.startsWith('HISTFAAA')).toBe(true)
    const decoded = decodeHistogram(encoded)
    expect(decoded.counts).toEqual(ours.counts)
    expect(decoded.encode()).toBe(encoded)
    expect(decodeHistogram(new Histogram().encode()).count).toBe(0)
  })

  it('means the same to another library, in both directions', () => {
    const { ours, theirs } = both(latencies())
    const encoded = encodeIntoCompressedBase64(theirs)
    expect(decodeFromCompressedBase64(ours.encode()).outputPercentileDistribution(5, 1000)).toBe(
      decodeFromCompressedBase64(encoded).outputPercentileDistribution(5, 1000),
    )
    const back = decodeHistogram(encoded)
    expect(back.counts).toEqual(ours.counts)
  })

  it.each([
    ['other bytes', 'SGVsbG8gd29ybGQ='],
    ['nothing', ''],
  ])('is refused where it is %s', (_name, text) => {
    expect(() => decodeHistogram(text)).toThrow('not a compressed HdrHistogram')
  })
})

it('the table of percentiles is that of the HdrHistogram tools', () => {
  const { ours, theirs } = both(latencies())
  const table = percentileTable(ours).split('\n')
  const expected = theirs.outputPercentileDistribution(5, 1000).split('\n')
  expect(table.length).toBe(expected.length)
  for (const [index, line] of table.entries()) {
    // A tie in the twelfth digit may be rounded either way.
    expect(line.length).toBe(expected[index]!.length)
    expect(figuresIn(line)).toEqual(
      figuresIn(expected[index]!).map((figure) => expect.closeTo(figure, 11)),
    )
  }
})

function figuresIn(line: string): number[] {
  return [...line.matchAll(/[\d.]+/g)].map(([figure]) => Number(figure))
}

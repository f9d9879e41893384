/** Histograms outside the hot path: read back from their encoded form, and the classic .hgrm table. */
import { BUCKETS, Histogram, highestAt, lowestAt, SUB_BUCKETS } from './histogram.ts'
import { decodeCounts } from './histogram-encoding.ts'

const TICKS_PER_HALF_DISTANCE = 5
const US_PER_MS = 1000

export function decodeHistogram(text: string): Histogram {
  const histogram = new Histogram()
  decodeCounts(text, (index, count) => {
    if (index >= histogram.counts.length)
      throw new Error('an HdrHistogram of longer times than 60 s')
    histogram.counts[index] = count
    histogram.count += count
    histogram.sum += count * middleAt(index)
    histogram.max = highestAt(index)
  })
  return histogram
}

/** Percentiles in ms, as HdrHistogram's own tools print and plot them. */
export function percentileTable(histogram: Histogram): string {
  const lines = ['       Value     Percentile TotalCount 1/(1-Percentile)', '']
  for (const row of percentileRows(histogram)) {
    const start = `${fixed(row.us, 3, 12)} ${fixed(row.share, 12, 14, 1)} ${String(row.count).padStart(10)}`
    lines.push(row.share === 1 ? start : `${start} ${fixed(1 / (1 - row.share), 2, 14, 1)}`)
  }
  const { mean, deviation } = momentsOf(histogram)
  lines.push(
    `#[Mean    = ${fixed(mean, 3, 12)}, StdDeviation   = ${fixed(deviation, 3, 12)}]`,
    `#[Max     = ${fixed(histogram.max, 3, 12)}, Total count    = ${String(histogram.count).padStart(12)}]`,
    `#[Buckets = ${String(BUCKETS).padStart(12)}, SubBuckets     = ${String(SUB_BUCKETS).padStart(12)}]`,
  )
  return `${lines.join('\n')}\n`
}

interface PercentileRow {
  readonly us: number
  readonly share: number
  /** Values up to this one. */
  readonly count: number
}

/** Five rows for each halving of what is left above. */
export function percentileRows(histogram: Histogram): PercentileRow[] {
  const rows: PercentileRow[] = []
  let level = 0
  let seen = 0
  for (let index = 0; index < histogram.counts.length && seen < histogram.count; index += 1) {
    const count = histogram.counts[index] ?? 0
    if (count === 0) continue
    seen += count
    while (seen < histogram.count && (100 * seen) / histogram.count >= level) {
      rows.push({ us: highestAt(index), share: level / 100, count: seen })
      level = nextLevel(level)
    }
    if (seen === histogram.count) rows.push(...lastRows(highestAt(index), level, seen))
  }
  return rows
}

/** The greatest value stands once for the next level and once for all values. */
function lastRows(us: number, level: number, count: number): PercentileRow[] {
  return [
    { us, share: level / 100, count },
    { us, share: 1, count },
  ]
}

function nextLevel(level: number): number {
  const halvings = Math.trunc(Math.log2(100 / (100 - level))) + 1
  return level + 100 / (TICKS_PER_HALF_DISTANCE * 2 ** halvings)
}

function momentsOf({ counts, count }: Histogram): { mean: number; deviation: number } {
  if (count === 0) return { mean: 0, deviation: 0 }
  let sum = 0
  for (let index = 0; index < counts.length; index += 1)
    sum += (counts[index] ?? 0) * middleAt(index)
  const mean = sum / count
  let squares = 0
  for (let index = 0; index < counts.length; index += 1) {
    squares += (counts[index] ?? 0) * (middleAt(index) - mean) ** 2
  }
  return { mean, deviation: Math.sqrt(squares / count) }
}

function middleAt(index: number): number {
  const width = highestAt(index) - lowestAt(index) + 1
  return lowestAt(index) + Math.floor(width / 2)
}

function fixed(value: number, digits: number, width: number, scale = US_PER_MS): string {
  return (value / scale).toFixed(digits).padStart(width)
}

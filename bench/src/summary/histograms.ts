/** Histograms that runs left in their records, put together. */
import type { Histogram } from '../load/generator/histogram.ts'
import { decodeHistogram } from '../load/generator/histogram-text.ts'

export function mergeHistograms(encoded: readonly string[]): Histogram | null {
  const [first, ...others] = encoded
  if (first === undefined) return null
  const merged = decodeHistogram(first)
  for (const text of others) merged.add(decodeHistogram(text))
  return merged
}

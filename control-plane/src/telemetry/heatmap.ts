/** How latencies were spread over time: for each step, requests by doublings of their duration. */
import type { TelemetryDatabase } from '../store/database.ts'
import { type AnalyticsQuery, readPlanned } from './analytics.ts'
import { LatencyHistogram } from './histogram.ts'
import { telemetryLimits as limits } from './limits.ts'
import type { NodeNames } from './node-names.ts'
import { TelemetryQueryError } from './query-error.ts'

export type HeatmapQuery = Omit<AnalyticsQuery, 'by' | 'filter' | 'percentiles'>

export interface HeatmapAnswer {
  readonly from: string
  readonly to: string
  readonly stepMs: number
  /** Each twice the one before. */
  readonly boundsMs: readonly number[]
  /** Steps without traffic are left out. */
  readonly columns: readonly HeatmapColumn[]
}

export interface HeatmapColumn {
  readonly time: string
  /** Requests below the bound of the same place, and not below the one before. */
  readonly counts: readonly number[]
}

const firstBoundUs = 64
const bucketsPerDoubling = 32

export async function queryHeatmap(
  db: TelemetryDatabase,
  nodes: NodeNames,
  query: HeatmapQuery,
  nowMs: number,
): Promise<HeatmapAnswer> {
  const whole = { ...query, by: [], filter: {}, percentiles: [] }
  const { plan, pages } = await readPlanned(db, nodes, whole, nowMs)
  const steps = new Map<number, LatencyHistogram>()
  for await (const rows of pages) {
    for (const row of rows) {
      const startMs =
        plan.fromMs + Math.floor((row.start_ms - plan.fromMs) / plan.stepMs) * plan.stepMs
      const sum = steps.get(startMs) ?? new LatencyHistogram()
      sum.mergePacked(row.latency)
      steps.set(startMs, sum)
      if (steps.size > limits.heatmapColumnsMax) {
        const reason = `is too small for the range: more than ${limits.heatmapColumnsMax} columns`
        throw new TelemetryQueryError('step', reason)
      }
    }
  }
  const columns = [...steps].map(([startMs, sum]) => ({ startMs, counts: countsOf(sum) }))
  const height = Math.max(0, ...columns.map(({ counts }) => counts.length))
  return {
    from: new Date(plan.fromMs).toISOString(),
    to: new Date(plan.toMs).toISOString(),
    stepMs: plan.stepMs,
    boundsMs: Array.from({ length: height }, (_, at) => (firstBoundUs * 2 ** at) / 1_000),
    columns: columns.map(({ startMs, counts }) => ({
      time: new Date(startMs).toISOString(),
      counts: Array.from({ length: height }, (_, at) => counts[at] ?? 0),
    })),
  }
}

function countsOf(histogram: LatencyHistogram): number[] {
  const counts: number[] = []
  for (const [bucket, count] of histogram.entries()) {
    const at = Math.max(0, Math.floor((bucket - firstBoundUs) / bucketsPerDoubling) + 1)
    while (counts.length <= at) counts.push(0)
    counts[at] = (counts[at] ?? 0) + count
  }
  return counts
}

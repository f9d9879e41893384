/**
 * Traffic as columns for charts: for each series one number a step and measure, from the first step of the range to
 * its last. A day of minutes of fifty nodes is 72,000 numbers; as objects it takes a browser most of a second.
 */
import type { TelemetryDatabase } from '../store/database.ts'
import { type AnalyticsQuery, type nameDimensions, readPlanned } from './analytics.ts'
import { LatencyHistogram } from './histogram.ts'
import { telemetryLimits as limits } from './limits.ts'
import type { NodeNames } from './node-names.ts'
import { TelemetryQueryError } from './query-error.ts'
import type { SumRow } from './sum-rows.ts'

type NameDimension = (typeof nameDimensions)[number]

const counts = {
  requests: (row: SumRow) =>
    row.informational +
    row.success +
    row.redirection +
    row.client_error +
    row.server_error +
    row.none,
  /** 5xx, and requests that ended without a status. */
  errors: (row: SumRow) => row.server_error + row.none,
  bytesIn: (row: SumRow) => row.bytes_in,
  bytesOut: (row: SumRow) => row.bytes_out,
  retries: (row: SumRow) => row.retries,
}
const shares = { p50Ms: 0.5, p90Ms: 0.9, p99Ms: 0.99 }

type CountMeasure = keyof typeof counts
type ShareMeasure = keyof typeof shares
export type ColumnMeasure = CountMeasure | ShareMeasure
export const columnMeasures: readonly ColumnMeasure[] = Object.freeze([
  ...(Object.keys(counts) as CountMeasure[]),
  ...(Object.keys(shares) as ShareMeasure[]),
])

export interface ColumnsQuery extends Omit<AnalyticsQuery, 'by' | 'filter' | 'percentiles'> {
  readonly by: readonly NameDimension[]
  readonly measures: readonly ColumnMeasure[]
}

export interface ColumnsAnswer {
  /** Where the first step begins, and where the last one ends. */
  readonly from: string
  readonly to: string
  readonly stepMs: number
  readonly series: readonly {
    readonly key: Partial<Record<NameDimension, string>>
    /** A count is 0 where nothing came, a percentile null. */
    readonly columns: Partial<Record<ColumnMeasure, readonly (number | null)[]>>
  }[]
}

export async function queryColumns(
  db: TelemetryDatabase,
  nodes: NodeNames,
  query: ColumnsQuery,
  nowMs: number,
): Promise<ColumnsAnswer> {
  const asked = { ...query, filter: {}, percentiles: [] }
  const { plan, names, pages } = await readPlanned(db, nodes, asked, nowMs)
  const { fromMs, toMs, stepMs } = plan
  const steps = Math.round((toMs - fromMs) / stepMs)
  assertFew(steps)
  const nameOf = new Map(names.map(({ id, name }) => [id, name]))
  const series = new Map<string, ColumnsOfSeries>()
  for await (const rows of pages) {
    for (const row of rows) {
      const keys = { ...row, node: nameOf.get(row.node) ?? row.node }
      const key = query.by.map((name) => keys[name]).join('\n')
      let one = series.get(key)
      if (one === undefined) {
        one = new ColumnsOfSeries(query.measures, steps)
        series.set(key, one)
        assertFew(steps * series.size)
      }
      one.add(Math.floor((row.start_ms - fromMs) / stepMs), row)
    }
  }
  return {
    from: new Date(fromMs).toISOString(),
    to: new Date(toMs).toISOString(),
    stepMs,
    series: [...series]
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([key, one]) => {
        const values = key.split('\n')
        const named = query.by.map((name, at) => [name, values[at] ?? ''])
        return { key: Object.fromEntries(named), columns: one.finish() }
      }),
  }
}

function assertFew(points: number): void {
  if (points <= limits.pointsMax) return
  const reason = `is too small for the range: more than ${limits.pointsMax} points`
  throw new TelemetryQueryError('step', reason)
}

class ColumnsOfSeries {
  readonly #counts: ReadonlyMap<CountMeasure, number[]>
  readonly #shares: readonly ShareMeasure[]
  readonly #latencies: (LatencyHistogram | undefined)[] = []

  constructor(measures: readonly ColumnMeasure[], steps: number) {
    const isCount = (measure: ColumnMeasure): measure is CountMeasure => measure in counts
    const isShare = (measure: ColumnMeasure): measure is ShareMeasure => measure in shares
    this.#counts = new Map(
      measures.filter(isCount).map((measure) => [measure, new Array<number>(steps).fill(0)]),
    )
    this.#shares = measures.filter(isShare)
    if (this.#shares.length > 0) this.#latencies = new Array(steps).fill(undefined)
  }

  add(step: number, row: SumRow): void {
    for (const [measure, values] of this.#counts) {
      values[step] = (values[step] ?? 0) + counts[measure](row)
    }
    if (this.#shares.length === 0) return
    const latency = this.#latencies[step] ?? new LatencyHistogram()
    latency.mergePacked(row.latency)
    this.#latencies[step] = latency
  }

  finish(): Partial<Record<ColumnMeasure, readonly (number | null)[]>> {
    const columns: Partial<Record<ColumnMeasure, readonly (number | null)[]>> = {}
    for (const [measure, values] of this.#counts) columns[measure] = values
    for (const measure of this.#shares) {
      columns[measure] = this.#latencies.map((latency) => percentileMs(latency, shares[measure]))
    }
    return columns
  }
}

function percentileMs(latency: LatencyHistogram | undefined, share: number): number | null {
  if (latency === undefined || latency.count === 0) return null
  return Math.round(latency.percentilesUs([share])[0] ?? 0) / 1_000
}

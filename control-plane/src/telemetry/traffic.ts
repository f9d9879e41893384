/** Answers what traffic there was: sums minute rows by node, router or service, in steps of time. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { TelemetryDatabase } from '../store/database.ts'
import { readTraffic, type TrafficKey, type TrafficRecord } from '../store/telemetry.ts'
import { LatencyHistogram } from './histogram.ts'
import { telemetryLimits as limits } from './limits.ts'
import type { NodeNames } from './node-names.ts'
import { TelemetryQueryError } from './query-error.ts'

export interface TrafficQuery {
  readonly by: 'node' | 'router' | 'service'
  readonly fromMs: number
  readonly toMs: number
  /** Whole minutes; absent: the whole range is one step. */
  readonly stepMs?: number | undefined
}

export interface TrafficAnswer {
  readonly by: TrafficQuery['by']
  /** The range that was summed, widened to whole minutes. */
  readonly from: string
  readonly to: string
  readonly stepMs: number
  readonly series: readonly TrafficSeries[]
}

export interface TrafficSeries {
  /** The name of the node, router or service; empty: no router matched, or no service was asked. */
  readonly key: string
  /** Steps without traffic are left out. */
  readonly points: readonly TrafficPoint[]
}

export interface TrafficPoint {
  /** Where the step begins. */
  readonly time: string
  readonly requests: {
    readonly total: number
    readonly informational: number
    readonly success: number
    readonly redirection: number
    readonly clientError: number
    readonly serverError: number
    readonly none: number
  }
  readonly bytesIn: number
  readonly bytesOut: number
  readonly latency: {
    readonly count: number
    readonly meanMs: number
    readonly p50Ms: number
    readonly p90Ms: number
    readonly p99Ms: number
  }
}

const minuteMs = 60_000

export async function queryTraffic(
  db: TelemetryDatabase,
  nodes: NodeNames,
  query: TrafficQuery,
): Promise<TrafficAnswer> {
  const fromMs = Math.floor(query.fromMs / minuteMs) * minuteMs
  const toMs = Math.ceil(query.toMs / minuteMs) * minuteMs
  const stepMs = query.stepMs ?? toMs - fromMs
  assertAnswerable(query, stepMs)
  const keyOf = await makeKeyOf(query.by, nodes)
  const series = new Map<string, TrafficPoint[]>()
  let points = 0
  for await (const step of readSteps(db, { fromMs, toMs, stepMs }, keyOf)) {
    points += step.sums.size
    if (points > limits.pointsMax) {
      const reason = `is too small for the range: more than ${limits.pointsMax} points`
      throw new TelemetryQueryError('step', reason)
    }
    for (const [key, sum] of step.sums) {
      const list = series.get(key) ?? []
      list.push(sum.toPoint(step.startMs))
      series.set(key, list)
    }
  }
  return {
    by: query.by,
    from: new Date(fromMs).toISOString(),
    to: new Date(toMs).toISOString(),
    stepMs,
    series: [...series]
      .map(([key, list]) => ({ key, points: list }))
      .sort((a, b) => (a.key < b.key ? -1 : 1)),
  }
}

function assertAnswerable(query: TrafficQuery, stepMs: number): void {
  if (!Number.isSafeInteger(query.fromMs) || query.fromMs < 0) {
    throw new TelemetryQueryError('from', 'is not a time')
  }
  // The last moment that a Date can hold.
  if (!Number.isSafeInteger(query.toMs) || query.toMs > 8.64e15 - minuteMs) {
    throw new TelemetryQueryError('to', 'is not a time')
  }
  if (query.toMs <= query.fromMs) {
    throw new TelemetryQueryError('to', 'is not after from')
  }
  if (!Number.isSafeInteger(stepMs) || stepMs < minuteMs || stepMs % minuteMs !== 0) {
    throw new TelemetryQueryError('step', 'is not one or more whole minutes')
  }
}

async function makeKeyOf(
  by: TrafficQuery['by'],
  nodes: NodeNames,
): Promise<(row: TrafficRecord) => string> {
  switch (by) {
    case 'node': {
      const names = new Map((await nodes.nodeNames()).map(({ id, name }) => [id, name]))
      return (row) => names.get(row.node) ?? row.node
    }
    case 'router':
      return (row) => row.router
    case 'service':
      return (row) => row.service
  }
}

interface Step {
  readonly startMs: number
  readonly sums: ReadonlyMap<string, TrafficSum>
}

/** Rows come in the order of time, so one step is held at a time, however long the range is. */
async function* readSteps(
  db: TelemetryDatabase,
  range: { readonly fromMs: number; readonly toMs: number; readonly stepMs: number },
  keyOf: (row: TrafficRecord) => string,
): AsyncGenerator<Step> {
  const { fromMs, toMs, stepMs } = range
  let after: TrafficKey | undefined
  let startMs = fromMs
  let sums = new Map<string, TrafficSum>()
  while (true) {
    const rows = await readTraffic(db, { fromMs, toMs, after }, limits.rowsPerRead)
    for (const row of rows) {
      const rowStartMs = fromMs + Math.floor((row.minute_ms - fromMs) / stepMs) * stepMs
      if (rowStartMs !== startMs && sums.size > 0) {
        yield { startMs, sums }
        sums = new Map()
      }
      startMs = rowStartMs
      const key = keyOf(row)
      const sum = sums.get(key) ?? new TrafficSum()
      sum.add(row)
      sums.set(key, sum)
    }
    after = rows.at(-1)
    if (after === undefined || rows.length < limits.rowsPerRead) {
      break
    }
    await nextTurn()
  }
  if (sums.size > 0) {
    yield { startMs, sums }
  }
}

class TrafficSum {
  readonly #latency = new LatencyHistogram()
  #informational = 0
  #success = 0
  #redirection = 0
  #clientError = 0
  #serverError = 0
  #none = 0
  #bytesIn = 0
  #bytesOut = 0

  add(row: TrafficRecord): void {
    this.#informational += row.informational
    this.#success += row.success
    this.#redirection += row.redirection
    this.#clientError += row.client_error
    this.#serverError += row.server_error
    this.#none += row.none
    this.#bytesIn += row.bytes_in
    this.#bytesOut += row.bytes_out
    this.#latency.mergePacked(row.latency)
  }

  toPoint(startMs: number): TrafficPoint {
    const [p50 = 0, p90 = 0, p99 = 0] = this.#latency.percentilesUs([0.5, 0.9, 0.99])
    return {
      time: new Date(startMs).toISOString(),
      requests: {
        total:
          this.#informational +
          this.#success +
          this.#redirection +
          this.#clientError +
          this.#serverError +
          this.#none,
        informational: this.#informational,
        success: this.#success,
        redirection: this.#redirection,
        clientError: this.#clientError,
        serverError: this.#serverError,
        none: this.#none,
      },
      bytesIn: this.#bytesIn,
      bytesOut: this.#bytesOut,
      latency: {
        count: this.#latency.count,
        meanMs: toMs(this.#latency.meanUs),
        p50Ms: toMs(p50),
        p90Ms: toMs(p90),
        p99Ms: toMs(p99),
      },
    }
  }
}

/** Milliseconds to the whole microsecond. */
function toMs(valueUs: number): number {
  return Math.round(valueUs) / 1_000
}

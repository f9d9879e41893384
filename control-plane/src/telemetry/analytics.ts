/**
 * Answers questions about traffic: by up to two of its dimensions, of a part of it, in steps of time, with
 * percentiles from merged histograms.
 */
import type { TelemetryDatabase } from '../store/database.ts'
import type { NameFilter } from '../store/rollups.ts'
import {
  type AnalyticsPoint,
  AnalyticsSum,
  type BreakdownFilter,
  isWhole,
} from './analytics-sum.ts'
import { telemetryLimits as limits } from './limits.ts'
import { idsOfNodes, type NodeNames } from './node-names.ts'
import { TelemetryQueryError } from './query-error.ts'
import { levelsMs } from './rollup-sums.ts'
import { cubeFor, readMinutes, readSums, type SumRow, segmentsOf } from './sum-rows.ts'

export const nameDimensions = ['node', 'router', 'service'] as const
export const breakdownDimensions = ['status', 'method', 'protocol', 'outcome'] as const
export const dimensions = [...nameDimensions, ...breakdownDimensions] as const
export type Dimension = (typeof dimensions)[number]

export interface AnalyticsQuery {
  readonly fromMs: number
  readonly toMs: number
  /** Whole minutes; 'auto': by the range; absent: the whole range is one step. */
  readonly stepMs?: number | 'auto' | undefined
  readonly by: readonly Dimension[]
  readonly nodes?: readonly string[] | undefined
  readonly routers?: readonly string[] | undefined
  readonly services?: readonly string[] | undefined
  readonly filter: BreakdownFilter
  readonly percentiles: readonly number[]
}

export interface AnalyticsAnswer {
  /** The range that was summed, widened to whole steps. */
  readonly from: string
  readonly to: string
  readonly stepMs: number
  readonly resolutionMs: number
  readonly by: readonly Dimension[]
  readonly series: readonly AnalyticsSeries[]
}

export interface AnalyticsSeries {
  readonly key: Partial<Record<Dimension, string>>
  readonly points: readonly AnalyticsPoint[]
}

interface Plan {
  readonly cube: number | undefined
  readonly fromMs: number
  readonly toMs: number
  readonly stepMs: number
  /** The coarsest rows that steps are made of. */
  readonly resolutionMs: number
  /** The finest rows that are still kept for the whole range. */
  readonly finestMs: number
}

export async function queryAnalytics(
  db: TelemetryDatabase,
  nodes: NodeNames,
  query: AnalyticsQuery,
  nowMs: number,
): Promise<AnalyticsAnswer> {
  const { plan, names, pages } = await readPlanned(db, nodes, query, nowMs)
  const nameOf = new Map(names.map(({ id, name }) => [id, name]))
  const series = new SeriesOfSteps(query, nameOf)
  for await (const rows of pages) {
    for (const row of rows) series.add(stepStart(plan, row.start_ms), row)
  }
  return {
    from: new Date(plan.fromMs).toISOString(),
    to: new Date(plan.toMs).toISOString(),
    stepMs: plan.stepMs,
    resolutionMs: plan.resolutionMs,
    by: query.by,
    series: series.finish(),
  }
}

/** The rows that answer a question, in the order of time; throws where it cannot be answered as asked. */
export async function readPlanned(
  db: TelemetryDatabase,
  nodes: NodeNames,
  query: AnalyticsQuery,
  nowMs: number,
) {
  assertAnswerable(query)
  const plan = planOf(query, nowMs)
  const names = await nodes.nodeNames()
  const filter = {
    nodes: query.nodes === undefined ? undefined : idsOfNodes(query.nodes, names),
    routers: query.routers,
    services: query.services,
  }
  return { plan, names, pages: rowsOf(db, plan, filter) }
}

function assertAnswerable({ fromMs, toMs, stepMs, by, percentiles }: AnalyticsQuery): void {
  if (!Number.isSafeInteger(fromMs) || fromMs < 0) {
    throw new TelemetryQueryError('from', 'is not a time')
  }
  // The last moment that a Date can hold, less what a range may be widened by.
  if (!Number.isSafeInteger(toMs) || toMs > 8.64e15 - 2 * levelsMs.day) {
    throw new TelemetryQueryError('to', 'is not a time')
  }
  if (toMs <= fromMs) {
    throw new TelemetryQueryError('to', 'is not after from')
  }
  if (typeof stepMs === 'number' && (stepMs < levelsMs.minute || stepMs % levelsMs.minute !== 0)) {
    throw new TelemetryQueryError('step', 'is not one or more whole minutes')
  }
  if (by.length > 2 || new Set(by).size < by.length) {
    throw new TelemetryQueryError('by', 'is not at most two different dimensions')
  }
  const areShares = percentiles.every((share) => share > 0 && share <= 1)
  if (!areShares || percentiles.length > limits.percentilesMax) {
    const reason = `is not at most ${limits.percentilesMax} numbers above 0 and up to 1`
    throw new TelemetryQueryError('percentiles', reason)
  }
}

function planOf(query: AnalyticsQuery, nowMs: number): Plan {
  const cube = cubeFor(new Set([...query.by, ...filteredNames(query)]))
  const finestMs = cube === undefined ? levelsMs.minute : finestKept(query.fromMs, nowMs)
  if (query.stepMs === undefined) {
    const fromMs = Math.floor(query.fromMs / finestMs) * finestMs
    const toMs = Math.ceil(query.toMs / finestMs) * finestMs
    const span = cube === undefined ? [] : segmentsOf(fromMs, toMs, finestMs)
    const resolutionMs = Math.max(finestMs, ...span.map(({ levelMs }) => levelMs))
    return { cube, fromMs, toMs, stepMs: toMs - fromMs, resolutionMs, finestMs }
  }
  const asked = query.stepMs === 'auto' ? autoStep(query.toMs - query.fromMs) : query.stepMs
  const stepMs = Math.ceil(asked / finestMs) * finestMs
  const coarsest = [levelsMs.day, levelsMs.hour].find((levelMs) => stepMs % levelMs === 0)
  const resolutionMs = cube === undefined ? levelsMs.minute : (coarsest ?? levelsMs.minute)
  const fromMs = Math.floor(query.fromMs / stepMs) * stepMs
  const toMs = Math.ceil(query.toMs / stepMs) * stepMs
  return { cube, fromMs, toMs, stepMs, resolutionMs, finestMs: resolutionMs }
}

function filteredNames({ nodes, routers, services }: AnalyticsQuery): string[] {
  const filters = { node: nodes, router: routers, service: services }
  return nameDimensions.filter((name) => filters[name] !== undefined)
}

function autoStep(rangeMs: number): number {
  if (rangeMs <= levelsMs.day / 4) return levelsMs.minute
  if (rangeMs <= levelsMs.day) return 5 * levelsMs.minute
  return rangeMs <= 14 * levelsMs.day ? levelsMs.hour : levelsMs.day
}

function finestKept(fromMs: number, nowMs: number): number {
  // Retention may be some minutes behind, never ahead.
  if (fromMs >= nowMs - limits.minuteSumsAgeMsMax) return levelsMs.minute
  return fromMs >= nowMs - limits.hourSumsAgeMsMax ? levelsMs.hour : levelsMs.day
}

function rowsOf(
  db: TelemetryDatabase,
  plan: Plan,
  filter: NameFilter,
): AsyncGenerator<readonly SumRow[]> {
  const { cube, fromMs, toMs, finestMs } = plan
  if (cube === undefined) return readMinutes(db, plan, filter)
  return readSums(db, cube, segmentsOf(fromMs, toMs, finestMs, plan.resolutionMs), filter)
}

function stepStart({ fromMs, stepMs }: Plan, timeMs: number): number {
  return fromMs + Math.floor((timeMs - fromMs) / stepMs) * stepMs
}

/** Rows come in the order of time, so one step is held at a time, however long the range is. */
class SeriesOfSteps {
  readonly #query: AnalyticsQuery
  readonly #nameOf: ReadonlyMap<string, string>
  readonly #isWhole: boolean
  readonly #series = new Map<string, { key: AnalyticsSeries['key']; points: AnalyticsPoint[] }>()
  #sums = new Map<string, AnalyticsSum>()
  #startMs = 0
  #points = 0

  constructor(query: AnalyticsQuery, nameOf: ReadonlyMap<string, string>) {
    this.#query = query
    this.#nameOf = nameOf
    this.#isWhole = isWhole(query.by, query.filter)
  }

  add(startMs: number, row: SumRow): void {
    if (startMs !== this.#startMs) this.#endStep()
    this.#startMs = startMs
    const { by, filter } = this.#query
    const node = this.#nameOf.get(row.node) ?? row.node
    const names = { node, router: row.router, service: row.service }
    if (this.#isWhole) {
      this.#sumOf(by.map((name) => nameIn(names, name))).addWhole(row)
      return
    }
    for (const part of AnalyticsSum.partsOf(row, by, filter)) {
      const key = by.map((name) =>
        name in part.names ? nameIn(part.names, name) : nameIn(names, name),
      )
      this.#sumOf(key).addPart(part)
    }
  }

  finish(): AnalyticsSeries[] {
    this.#endStep()
    return [...this.#series].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, one]) => one)
  }

  #sumOf(values: readonly string[]): AnalyticsSum {
    const key = values.join('\n')
    let sum = this.#sums.get(key)
    if (sum === undefined) {
      sum = new AnalyticsSum()
      this.#sums.set(key, sum)
      this.#points += 1
      if (this.#points > limits.pointsMax) {
        const reason = `is too small for the range: more than ${limits.pointsMax} points`
        throw new TelemetryQueryError('step', reason)
      }
    }
    return sum
  }

  #endStep(): void {
    for (const [key, sum] of this.#sums) {
      const series = this.#series.get(key) ?? { key: this.#keyOf(key), points: [] }
      series.points.push(sum.toPoint(this.#startMs, this.#query.percentiles, this.#isWhole))
      this.#series.set(key, series)
    }
    this.#sums = new Map()
  }

  #keyOf(text: string): AnalyticsSeries['key'] {
    const values = text.split('\n')
    return Object.fromEntries(this.#query.by.map((name, at) => [name, values[at] ?? '']))
  }
}

function nameIn(names: Partial<Record<Dimension, string>>, name: Dimension): string {
  return names[name] ?? ''
}

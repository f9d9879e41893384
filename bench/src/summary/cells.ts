/** One cell of a table: the rounds of a proxy in a scenario, reduced to medians, spread and ratios. */
import {
  type Artifacts,
  busyShare,
  type ClockName,
  countedRuns,
  type Percentiles,
  type RunRecord,
  type ScenarioPlan,
} from '../artifacts/records.ts'
import { hasSamplesFor } from '../honesty/answers.ts'
import { medianOf } from '../honesty/honesty-test.ts'
import { noiseOf } from '../honesty/machine.ts'
import type { Histogram } from '../load/generator/histogram.ts'
import { intervalOf, summaryOf } from './bootstrap.ts'
import { mergeHistograms } from './histograms.ts'
import { sustainedOf, zrkSustainedOf } from './ramps.ts'
import type { Cell, LatencyCell, Ratio } from './report-record.ts'

export type Measure = (run: RunRecord) => number | null

export interface CellContext {
  readonly artifacts: Artifacts
  readonly scenario: ScenarioPlan
  readonly runs: readonly RunRecord[]
}

export function contextOf(artifacts: Artifacts, scenario: ScenarioPlan): CellContext {
  const runs = countedRuns(artifacts).filter((run) => run.scenario === scenario.key)
  return { artifacts, scenario, runs }
}

/** Good answers per second; of a ramp, the most that was sustained. */
export function throughputOf({ artifacts, scenario }: CellContext): Measure {
  if (scenario.kind !== 'ramp') return (run) => run.rps
  return (run) => {
    const series = artifacts.series.find(
      (one) =>
        one.scenario === run.scenario &&
        one.proxy === run.proxy &&
        one.round === run.round &&
        one.role === run.role,
    )
    const most = series === undefined ? 0 : sustainedOf(series.rows)
    // Nothing that was held is no figure of 0.
    return most > 0 ? most : null
  }
}

export const cpuUsOf: Measure = (run) =>
  run.cpu === null || run.ok === 0 ? null : run.cpu.run_ns / 1_000 / run.ok

export const p99Of: Measure = (run) =>
  run.lat_us === null || !hasSamplesFor(run.lat_us.sched, 0.99) ? null : run.lat_us.sched.p99

/** Of the same rounds: the middle of this proxy's value over the mean of the reference's two. */
export function ratioOf(context: CellContext, proxy: string, measure: Measure): Ratio | null {
  const { reference } = context.artifacts.plan
  const values: number[] = []
  for (const run of context.runs) {
    if (run.proxy !== proxy || run.role !== 'measured') continue
    const base = context.runs
      .filter(({ role, round, proxy: name }) => {
        return name === reference && round === run.round && role !== 'direct'
      })
      .map(measure)
      .filter((value) => value !== null)
    const own = measure(run)
    const mean = base.reduce((sum, value) => sum + value, 0) / base.length
    if (own !== null && mean > 0) values.push(own / mean)
  }
  const interval = intervalOf(values)
  return interval === null ? null : { ...interval, median: medianOf(values), values }
}

/** The most that two measurements of the reference in one round differ. */
export function noiseFloorOf(context: CellContext, measure: Measure): number | null {
  const { reference } = context.artifacts.plan
  const differences: number[] = []
  for (const again of context.runs.filter(({ role }) => role === 'again')) {
    const first = context.runs.find(
      ({ role, round, proxy }) =>
        role === 'measured' && round === again.round && proxy === reference,
    )
    const left = first === undefined ? null : measure(first)
    const right = measure(again)
    if (left !== null && right !== null && right > 0) differences.push(Math.abs(left / right - 1))
  }
  return differences.length === 0 ? null : Math.max(...differences)
}

export function cellOf(context: CellContext, proxy: string, role: RunRecord['role']): Cell | null {
  const own = context.runs.filter((run) => run.proxy === proxy && run.role === role)
  const [first] = own
  if (first === undefined) return null
  const measure = throughputOf(context)
  const rps = summaryOf(own.map(measure).filter((value) => value !== null))
  const busies = own.map(busyShare).filter((share) => share !== null)
  const busy = busies.length === 0 ? null : medianOf(busies)
  const bound = mostCommon(own.map((run) => run.bound))
  const isProxy = role === 'measured'
  return {
    proxy,
    scenario: context.scenario.key,
    rounds: own.length,
    rps,
    allRps: medianOf(own.map((run) => run.all_rps)),
    zrkSustained: context.scenario.kind === 'ramp' ? zrkOf(context, own) : null,
    ratio: isProxy ? ratioOf(context, proxy, measure) : null,
    cpuUs: summaryOf(own.map(cpuUsOf).filter((value) => value !== null)),
    cpuRatio: isProxy ? ratioOf(context, proxy, cpuUsOf) : null,
    p99Ratio: isProxy ? ratioOf(context, proxy, p99Of) : null,
    busy,
    utilisation: null,
    bound,
    ceiling:
      bound === 'proxy' || busy === null || busy === 0 || rps === null ? null : rps.median / busy,
    isTie: false,
    isRanked: false,
    rank: null,
    latency: latencyOf(own),
    tailMeansUs: first.tail_means_us === null ? null : tailMeansOf(own),
    lagUs: lagOf(own),
    memory: memoryOf(own),
    answers: answersOf(own),
    bytes: medianOf(own.map((run) => run.bytes)),
    seconds: medianOf(own.map((run) => run.seconds)),
    noisyRounds: own.filter((run) => noiseOf(run).length > 0).length,
    footnotes: [],
  }
}

function zrkOf({ artifacts }: CellContext, runs: readonly RunRecord[]): number | null {
  const values = runs.flatMap((run) => {
    const series = artifacts.series.find(
      ({ scenario, proxy, round, role }) =>
        scenario === run.scenario &&
        proxy === run.proxy &&
        round === run.round &&
        role === run.role,
    )
    return series === undefined ? [] : [zrkSustainedOf(series.rows)]
  })
  return values.length === 0 ? null : medianOf(values)
}

function latencyOf(runs: readonly RunRecord[]): Cell['latency'] {
  const known = runs.filter((run) => run.lat_us !== null)
  if (known.length === 0) return null
  const of = (clock: ClockName) =>
    latencyCell(
      known.flatMap((run) => run.lat_us?.[clock] ?? []),
      mergeHistograms(known.flatMap((run) => run.hdr?.[clock] ?? [])),
    )
  return { service: of('service'), release: of('release'), sched: of('sched') }
}

function latencyCell(all: readonly Percentiles[], whole: Histogram | null): LatencyCell {
  const middle = (pick: (one: Percentiles) => number) => medianOf(all.map(pick))
  const has = (share: number) => all.every((one) => hasSamplesFor(one, share))
  return {
    mean: middle(({ mean }) => mean),
    stdev: whole?.standardDeviation() ?? null,
    min: whole?.min ?? null,
    p50: middle(({ p50 }) => p50),
    p75: middle(({ p75 }) => p75),
    p90: middle(({ p90 }) => p90),
    p95: middle(({ p95 }) => p95),
    p99: has(0.99) ? middle(({ p99 }) => p99) : null,
    p999: has(0.999) ? middle(({ p999 }) => p999) : null,
    max: Math.max(...all.map(({ max }) => max)),
    isFloor: all.some(({ saturated }) => saturated),
  }
}

function tailMeansOf(runs: readonly RunRecord[]): Record<string, number> {
  const names = Object.keys(runs[0]?.tail_means_us ?? {})
  return Object.fromEntries(
    names.map((name) => [name, medianOf(runs.map((run) => run.tail_means_us?.[name] ?? 0))]),
  )
}

function lagOf(runs: readonly RunRecord[]): Cell['lagUs'] {
  const known = runs.map((run) => run.lag_us).filter((lag) => lag !== null)
  if (known.length === 0) return null
  return { p50: medianOf(known.map(({ p50 }) => p50)), p99: medianOf(known.map(({ p99 }) => p99)) }
}

function memoryOf(runs: readonly RunRecord[]): Cell['memory'] {
  const middle = (pick: (run: RunRecord) => number | null) => {
    const known = runs.map(pick).filter((value) => value !== null)
    return known.length === 0 ? null : medianOf(known)
  }
  return {
    idle: middle(({ mem }) => mem.idle),
    loaded: middle(({ mem }) => mem.loaded),
    after: middle(({ mem }) => mem.after),
  }
}

function answersOf(runs: readonly RunRecord[]): Cell['answers'] {
  const sum = (pick: (run: RunRecord) => number) => runs.reduce((all, run) => all + pick(run), 0)
  const ofClass = (digit: string) =>
    sum((run) =>
      Object.entries(run.status).reduce(
        (all, [status, count]) => all + (status.startsWith(digit) ? count : 0),
        0,
      ),
    )
  const good = sum(({ ok }) => ok)
  const errors = sum((run) => Object.values(run.errors).reduce((all, count) => all + count, 0))
  const unsent = sum(({ shed, unsent: left }) => shed + left)
  const other = sum((run) => Object.values(run.status).reduce((all, count) => all + count, 0))
  const all = good + errors + unsent + other
  return {
    good,
    class3: ofClass('3'),
    class4: ofClass('4'),
    class5: ofClass('5'),
    errors,
    connectErrors: sum((run) => run.errors.connect),
    timeouts: sum((run) => run.errors.timeout),
    unsent,
    goodShare: all === 0 ? 0 : good / all,
  }
}

function mostCommon(values: readonly string[]): string {
  const counts = new Map<string, number>()
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1)
  return [...counts].toSorted((left, right) => right[1] - left[1])[0]?.[0] ?? 'latency'
}

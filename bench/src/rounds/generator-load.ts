/** The generator's plans for a scenario, one for each method, and their results put together as one. */
import type {
  ClockName,
  Percentiles,
  RunErrors,
  ScenarioPlan,
  SeriesRow,
} from '../artifacts/records.ts'
import type { Histogram } from '../load/generator/histogram.ts'
import type {
  LatencySummary,
  LoadPlan,
  LoadRequest,
  LoadResult,
  Schedule,
} from '../load/load-plan.ts'
import { mergeHistograms } from '../summary/histograms.ts'

export interface GeneratorTarget {
  readonly port: number
  readonly tlsPort: number
  readonly host: string
  readonly authorityFile: string
}

export interface PlanSetting {
  readonly target: GeneratorTarget
  readonly pace: LoadPlan['pace']
  readonly seed: number
  readonly requests:
    | ((scenario: ScenarioPlan, method: 'GET' | 'POST') => readonly LoadRequest[])
    | undefined
}

/** A pair of addresses and a port has some 28,000 ports of its own. */
const CONNECTIONS_PER_ADDRESS = 4_000

export function plansOf(
  scenario: ScenarioPlan,
  { target, pace, seed, requests }: PlanSetting,
): LoadPlan[] {
  const secure = {
    address: '127.0.0.1',
    port: target.tlsPort,
    tls: { serverName: target.host, authorityFile: target.authorityFile },
  }
  const plain = { address: '127.0.0.1', port: target.port }
  const each = Math.max(1, Math.round(scenario.connections / scenario.methods.length))
  const addresses = Math.max(1, Math.ceil(scenario.connections / CONNECTIONS_PER_ADDRESS))
  return scenario.methods.map((method, index): LoadPlan => {
    const list =
      requests?.(scenario, method) ??
      scenario.paths.map((path) => ({ method, path, host: target.host }))
    return {
      targets:
        scenario.protocol === 'http'
          ? [plain]
          : scenario.protocol === 'https'
            ? [secure]
            : [plain, secure],
      requests: list,
      connections: each,
      schedule: scheduleOf(scenario),
      warmUpSeconds: scenario.warmUpSeconds,
      pace,
      assign: 'shared',
      deadlineMs: scenario.deadlineMs,
      timeoutMs: scenario.timeoutMs,
      isConnectionPerRequest: scenario.isConnectionPerRequest,
      expected: { status: 200, bodyBytes: scenario.bodyBytes },
      sourceAddresses: Array.from({ length: addresses }, (_, at) => `127.0.0.${at + 1}`),
      ...(list.length > 1 ? { seed: seed + index } : {}),
    }
  })
}

function scheduleOf({ kind, seconds, perSecond = 0, toPerSecond = 0 }: ScenarioPlan): Schedule {
  switch (kind) {
    case 'steady':
      return { kind: 'constant', perSecond, seconds }
    case 'ramp':
      return { kind: 'ramp', fromPerSecond: perSecond, toPerSecond, seconds }
    case 'closed':
    case 'capacity':
      return { kind: 'closed', seconds }
  }
}

export interface LoadFigures {
  readonly seconds: number
  readonly scheduled: number
  readonly ok: number
  readonly status: Readonly<Record<string, number>>
  readonly errors: RunErrors
  readonly shed: number
  readonly unsent: number
  readonly bytes: number
  readonly latency: Readonly<Record<ClockName, Percentiles>> | null
  readonly encoded: Readonly<Record<ClockName, string>> | null
  readonly lag: Percentiles | null
  readonly burstIndex: number | null
  readonly startsPerMs: readonly number[]
  readonly tailMeans: Readonly<Record<string, number>> | null
  /** Attempts to connect that failed for want of a local port or descriptor; wrk does not tell these apart. */
  readonly exhausted: { readonly ports: number; readonly files: number }
  readonly connectionsOpened: number
  readonly handshakes: { readonly full: number; readonly resumed: number }
  readonly processorNs: number
  /** Answered before the measured part began. */
  readonly answeredBefore: number
  readonly windows: readonly SeriesRow[]
}

/** Two processes at once are one load: counts add up, histograms merge. Rows are those of the first, doubled. */
export function figuresOf(results: readonly LoadResult[]): LoadFigures {
  const [first] = results
  if (first === undefined) throw new Error('the generator gave no result')
  const sum = (pick: (one: LoadResult) => number) =>
    results.reduce((all, one) => all + pick(one), 0)
  const status: Record<string, number> = {}
  for (const { otherStatuses } of results) {
    for (const [code, count] of Object.entries(otherStatuses))
      status[code] = (status[code] ?? 0) + count
  }
  const merged = (clock: keyof LoadResult['latency']) =>
    percentilesOf(results.map(({ latency }) => latency[clock]))
  const [service, release, sched] = [merged('service'), merged('release'), merged('schedule')]
  const errors = {
    connect: sum((one) => one.errors.connect),
    read: sum((one) => one.errors.read),
    write: sum((one) => one.errors.write),
    timeout: sum((one) => one.errors.timeout),
    short: sum((one) => one.errors.wrong),
  }
  const ok = sum((one) => one.ok)
  const answered = ok + errors.short + Object.values(status).reduce((all, count) => all + count, 0)
  return {
    seconds: Math.max(...results.map(({ seconds }) => seconds)),
    scheduled: sum((one) => one.scheduled),
    ok,
    status,
    errors,
    shed: sum((one) => one.shed),
    unsent: sum((one) => one.unsent),
    bytes: sum((one) => one.bytes),
    latency: {
      service: service.percentiles,
      release: release.percentiles,
      sched: sched.percentiles,
    },
    encoded: { service: service.encoded, release: release.encoded, sched: sched.encoded },
    lag: percentilesOf(results.map(({ lag }) => lag)).percentiles,
    burstIndex: Math.max(...results.map(({ burstIndex }) => burstIndex)),
    startsPerMs: first.startsPerMs,
    tailMeans: tailMeansOf(service.histogram, first),
    exhausted: {
      ports: sum((one) => one.exhausted.ports),
      files: sum((one) => one.exhausted.files),
    },
    connectionsOpened: sum((one) => one.connectionsOpened),
    handshakes: {
      full: sum((one) => one.handshakes.full),
      resumed: sum((one) => one.handshakes.resumed),
    },
    processorNs: sum((one) => one.processorNs),
    answeredBefore: Math.max(0, sum((one) => one.answeredInAll) - answered),
    windows: rowsOf(results),
  }
}

interface Merged {
  readonly percentiles: Percentiles
  readonly encoded: string
  readonly histogram: Histogram | null
}

function percentilesOf(all: readonly LatencySummary[]): Merged {
  const [first] = all
  if (first === undefined) throw new Error('no latencies to put together')
  const histogram = all.length === 1 ? null : mergeHistograms(all.map(({ encoded }) => encoded))
  const { isSaturated, encoded, ...values } = histogram?.summary() ?? first
  return { percentiles: { ...values, saturated: isSaturated }, encoded, histogram }
}

function tailMeansOf(merged: Histogram | null, { tailMeans }: LoadResult): Record<string, number> {
  if (merged === null) return { ...tailMeans }
  const shares = { p50: 0.5, p75: 0.75, p90: 0.9, p95: 0.95, p99: 0.99, p999: 0.999 }
  return Object.fromEntries(
    Object.entries(shares).map(([name, share]) => [name, merged.tailMean(share)]),
  )
}

function rowsOf(results: readonly LoadResult[]): SeriesRow[] {
  const [first, ...others] = results
  return (first?.windows ?? []).map((row, index) => {
    const same = others.flatMap(({ windows }) => windows[index] ?? [])
    const add = (pick: (one: SeriesRow) => number) =>
      same.reduce((all, one) => all + pick(one), pick(row))
    return {
      ...row,
      achieved_rate: add((one) => one.achieved_rate),
      ok_rate: add((one) => one.ok_rate),
      requests: add((one) => one.requests),
      errors: add((one) => one.errors),
      bytes: add((one) => one.bytes),
      bytes_per_sec: add((one) => one.bytes_per_sec),
      // Each histogram holds some hundred bytes, and the run's own has all of them.
      latency_histogram: others.length === 0 ? row.latency_histogram : '',
    }
  })
}

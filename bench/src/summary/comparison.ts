/** Two builds, or the node alone and in its fleet: each figure of both, and what changed. */
import {
  type Artifacts,
  countedRuns,
  type RunRecord,
  type ScenarioPlan,
} from '../artifacts/records.ts'
import { medianOf } from '../honesty/honesty-test.ts'
import { intervalOf } from './bootstrap.ts'
import { contextOf, cpuUsOf, type Measure, noiseFloorOf, p99Of, throughputOf } from './cells.ts'
import type { Comparison, Difference } from './report-record.ts'

interface Metric {
  readonly name: string
  readonly measure: Measure
}

/** old and new of `ab`; otherwise the isolated node and the one under a control plane, where both are there. */
function sidesOf({ plan }: Artifacts): readonly [string, string] | null {
  if (plan.suite === 'ab') return ['old', 'new']
  return plan.proxies.includes('self') && plan.proxies.includes('self-fleet')
    ? ['self', 'self-fleet']
    : null
}

export function comparisonOf(artifacts: Artifacts): Comparison | null {
  const sides = sidesOf(artifacts)
  if (sides === null) return null
  const [left, right] = sides
  const rows = artifacts.plan.scenarios.flatMap((scenario) => {
    const context = contextOf(artifacts, scenario)
    return metricsOf(scenario, throughputOf(context)).flatMap((metric) => {
      const pairs = pairsOf(artifacts, scenario.key, [left, right], metric.measure)
      const floor = noiseFloorOf(context, metric.measure) ?? 0
      return pairs.length === 0 ? [] : [differenceOf(scenario.key, metric.name, pairs, floor)]
    })
  })
  return { left, right, rows }
}

function metricsOf({ kind }: ScenarioPlan, throughput: Measure): Metric[] {
  const cpu = { name: 'CPU per request, µs', measure: cpuUsOf }
  if (kind !== 'steady') return [{ name: 'requests per second', measure: throughput }, cpu]
  const memory = (pick: (run: RunRecord) => number | null): Measure => {
    return (run) => {
      const bytes = pick(run)
      return bytes === null ? null : bytes / 1_048_576
    }
  }
  return [
    { name: 'latency p50, ms', measure: (run) => (run.lat_us?.sched.p50 ?? 0) / 1_000 || null },
    {
      name: 'latency p99, ms',
      measure: (run) => {
        const p99 = p99Of(run)
        return p99 === null ? null : p99 / 1_000
      },
    },
    cpu,
    { name: 'memory idle, MiB', measure: memory(({ mem }) => mem.idle) },
    { name: 'memory loaded, MiB', measure: memory(({ mem }) => mem.loaded) },
  ]
}

function pairsOf(
  artifacts: Artifacts,
  scenario: string,
  [left, right]: readonly [string, string],
  measure: Measure,
): [number, number][] {
  const runs = countedRuns(artifacts).filter(
    (run) => run.scenario === scenario && run.role !== 'direct',
  )
  const rounds = [...new Set(runs.map(({ round }) => round))]
  return rounds.flatMap((round): [number, number][] => {
    const mean = (proxy: string) => {
      const values = runs
        .filter((run) => run.round === round && run.proxy === proxy)
        .map(measure)
        .filter((value) => value !== null)
      return values.length === 0
        ? null
        : values.reduce((sum, value) => sum + value, 0) / values.length
    }
    const one = mean(left)
    const other = mean(right)
    return one === null || other === null || one === 0 ? [] : [[one, other]]
  })
}

function differenceOf(
  scenario: string,
  metric: string,
  pairs: readonly (readonly [number, number])[],
  floor: number,
): Difference {
  const changes = pairs.map(([left, right]) => right / left - 1)
  const interval = intervalOf(changes)
  const change = medianOf(changes)
  const isAcrossZero = interval !== null && interval.low <= 0 && interval.high >= 0
  return {
    scenario,
    metric,
    left: medianOf(pairs.map(([left]) => left)),
    right: medianOf(pairs.map(([, right]) => right)),
    change,
    interval,
    isTie: isAcrossZero || Math.abs(change) < 2 * floor,
  }
}

/** Latency by percentile, from the histograms that runs left: merged over the rounds of a proxy. */
import {
  type Artifacts,
  type ClockName,
  countedRuns,
  type RunRecord,
} from '../artifacts/records.ts'
import { groupedBy } from '../honesty/honesty-test.ts'
import { mergeHistograms } from './histograms.ts'
import type { DistributionReport, Point } from './report-record.ts'

const POINTS_PER_DECADE = 10
const DECADES_MAX = 6

export function distributionsOf(artifacts: Artifacts): DistributionReport[] {
  const open = artifacts.plan.scenarios.filter(({ kind }) => kind === 'steady' || kind === 'ramp')
  const keys = new Set(open.map(({ key }) => key))
  const runs = countedRuns(artifacts).filter(
    (run) => run.role === 'measured' && run.hdr !== null && keys.has(run.scenario),
  )
  return [...groupedBy(runs, (run) => `${run.scenario} ${run.proxy}`).values()].flatMap((own) => {
    const [first] = own
    if (first === undefined) return []
    const { proxy, scenario } = first
    const clocks = {
      service: pointsOf(own, 'service'),
      release: pointsOf(own, 'release'),
      sched: pointsOf(own, 'sched'),
    }
    return [{ proxy, scenario, clocks, file: `${proxy}.${scenario}.hgrm` }]
  })
}

function pointsOf(runs: readonly RunRecord[], clock: ClockName): Point[] {
  const encoded = runs.flatMap(({ hdr }) => hdr?.[clock] ?? []).filter((text) => text !== '')
  const merged = mergeHistograms(encoded)
  if (merged === null || merged.count === 0) return []
  const points: Point[] = []
  for (let step = 0; step <= POINTS_PER_DECADE * DECADES_MAX; step += 1) {
    const x = 10 ** (step / POINTS_PER_DECADE)
    if (x > merged.count) break
    points.push([x, merged.valueAt(1 - 1 / x) / 1_000])
  }
  points.push([merged.count, merged.max / 1_000])
  return points
}

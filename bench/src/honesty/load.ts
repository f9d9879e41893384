/** Whether the load was what it claims to be, and what it can say. */
import {
  type Artifacts,
  busyShare,
  countedRuns,
  type RunRecord,
  scenarioOf,
} from '../artifacts/records.ts'
import {
  type Complaint,
  groupedBy,
  type HonestyTest,
  isOfProxy,
  medianOf,
  type Observation,
  percent,
  worstOf,
} from './honesty-test.ts'
import { noiseOf } from './machine.ts'

const BURST_INDEX_MAX = 2
const ACHIEVED_SHARE_MIN = 0.99
const QUEUEING_UTILISATION = 0.6
const BUSY_SHARE = 0.95
const SAME_THROUGHPUT = 0.03
const ROUNDS_MIN = 5
const WARM_SHARE = 0.05

export const theProxyIsTheLimit: HonestyTest = {
  number: 2,
  name: 'the proxy is the limit, not the generator or the origin',
  look: (artifacts) => {
    const capacity = countedRuns(artifacts).filter(
      (run) => run.role === 'measured' && kindOf(artifacts, run) === 'capacity',
    )
    const bound = worstOf(
      capacity.flatMap((run): Complaint[] => {
        if (run.bound === 'proxy') return []
        const busy = busyShare(run)
        const text = `${run.scenario} is ${run.bound}-bound (proxy busy ${busy === null ? '?' : percent(busy)}): the figure is a floor`
        const action = run.bound === 'generator' ? 'no-rank' : 'note'
        return [{ run, size: 1 - (busy ?? 0), action, text }]
      }),
    )
    return [...bound, ...ceilings(capacity)]
  },
}

/** Two different proxies that answer alike while neither is busy: the client is probably the ceiling. */
function ceilings(runs: readonly RunRecord[]): Observation[] {
  const found: Observation[] = []
  for (const [scenario, group] of groupedBy(runs, (run) => run.scenario)) {
    const cells = [...groupedBy(group, (run) => run.proxy)].map(([proxy, own]) => {
      const busy = medianOf(own.map((run) => busyShare(run) ?? 1))
      return { proxy, busy, rps: medianOf(own.map((run) => run.rps)) }
    })
    for (const [index, left] of cells.entries()) {
      for (const right of cells.slice(index + 1)) {
        const isAlike = Math.abs(left.rps / right.rps - 1) < SAME_THROUGHPUT
        if (!isAlike || left.busy >= BUSY_SHARE || right.busy >= BUSY_SHARE) continue
        const text = `${left.proxy} and ${right.proxy} answer alike in ${scenario} while neither is busy: client ceiling`
        found.push({ action: 'note', scenario, text })
      }
    }
  }
  return found
}

export const closedLoopsHaveNoLatency: HonestyTest = {
  number: 3,
  name: 'latency of a closed loop is not shown as latency',
  look: (artifacts) =>
    worstOf(
      countedRuns(artifacts).flatMap((run): Complaint[] => {
        const scenario = scenarioOf(artifacts, run.scenario)
        if (scenario === undefined || run.lat_us === null || run.all_rps === 0) return []
        if (scenario.kind !== 'closed' && scenario.kind !== 'capacity') return []
        const cycleUs = (scenario.connections / run.all_rps) * 1e6
        if (Math.abs(run.lat_us.service.mean / cycleUs - 1) > 0.05) return []
        const text = `${run.scenario}: mean latency is connections ÷ rate (${Math.round(cycleUs)} µs): saturated, closed loop`
        return [{ run, size: 1, action: 'note', text }]
      }),
    ),
}

export const pacingIsEven: HonestyTest = {
  number: 4,
  name: 'requests do not go out in bursts',
  look: (artifacts) =>
    worstOf(
      countedRuns(artifacts).flatMap((run): Complaint[] => {
        if (kindOf(artifacts, run) !== 'steady' || run.burst_index === null) return []
        if (run.burst_index <= BURST_INDEX_MAX) return []
        const text = `${run.scenario}, round ${run.round + 1}: burst index ${run.burst_index.toFixed(1)}, more than 2 times the even spacing`
        return [{ run, size: run.burst_index, action: 'no-rank', text }]
      }),
    ),
}

export const theGeneratorIsInTime: HonestyTest = {
  number: 5,
  name: 'the generator keeps to its schedule',
  look: (artifacts) =>
    worstOf(
      countedRuns(artifacts).flatMap((run): Complaint[] => {
        if (kindOf(artifacts, run) !== 'steady' || run.scheduled === 0) return []
        const sent = (run.scheduled - run.unsent - run.shed) / run.scheduled
        if (sent < ACHIEVED_SHARE_MIN) {
          const text = `${run.scenario}, round ${run.round + 1}: only ${percent(sent)} of the schedule was sent`
          // A generator that others kept from running is no fault of the schedule.
          const action = noiseOf(run).length > 0 ? 'no-rank' : 'fail'
          return [{ run, size: 2 - sent, action, text }]
        }
        const lag = run.lag_us?.p50 ?? 0
        if (run.lat_us === null || lag <= 0.5 * run.lat_us.sched.p50) return []
        const text = `${run.scenario}: the generator's lateness (p50 ${Math.round(lag)} µs) is more than half of the p50: generator-limited resolution`
        return [{ run, size: 0.5, action: 'note', text }]
      }),
    ),
}

export const utilisationIsEqual: HonestyTest = {
  number: 6,
  name: 'the common rate is well below every limit',
  look: (artifacts) =>
    worstOf(
      countedRuns(artifacts).flatMap((run): Complaint[] => {
        if (kindOf(artifacts, run) !== 'steady' || !isOfProxy(run)) return []
        const busy = busyShare(run) ?? 0
        const capacity = capacityOf(artifacts, run.proxy)
        const share = capacity === undefined ? busy : Math.max(busy, run.all_rps / capacity)
        if (share <= QUEUEING_UTILISATION) return []
        const text = `${run.scenario} uses ${percent(share)} of ${run.proxy}'s limit: its p99 is queueing`
        return [{ run, size: share, action: 'note', text }]
      }),
    ),
}

/** Of the scenario with the same work without a rate. */
function capacityOf(artifacts: Artifacts, proxy: string): number | undefined {
  const runs = countedRuns(artifacts).filter(
    (run) =>
      run.proxy === proxy &&
      run.role === 'measured' &&
      (run.scenario === 'http1k' || run.scenario === 'capacity'),
  )
  return runs.length === 0 ? undefined : medianOf(runs.map((run) => run.rps))
}

export const noBestOfN: HonestyTest = {
  number: 20,
  name: 'all runs are kept, and there are enough',
  look: (artifacts) => {
    const found: Observation[] = []
    for (const { key } of artifacts.plan.scenarios) {
      const rounds = new Set(
        artifacts.runs
          .filter((run) => run.scenario === key && run.role === 'measured')
          .map((run) => run.round),
      )
      if (rounds.size >= ROUNDS_MIN) continue
      const text = `${key} has ${rounds.size} round${rounds.size === 1 ? '' : 's'}, fewer than ${ROUNDS_MIN}`
      found.push({ action: 'note', scenario: key, text })
    }
    // A repeated run must leave the one before it in the record.
    for (const run of artifacts.runs.filter(({ attempt }) => attempt > 0)) {
      const isKept = artifacts.runs.some(
        (other) =>
          other.scenario === run.scenario &&
          other.proxy === run.proxy &&
          other.role === run.role &&
          other.round === run.round &&
          other.attempt === run.attempt - 1,
      )
      if (isKept) continue
      const text = `${run.scenario}, round ${run.round + 1}: attempt ${run.attempt} is missing from the record`
      found.push({ action: 'fail', proxy: run.proxy, scenario: run.scenario, text })
    }
    return found
  },
}

export const warmUpIsOver: HonestyTest = {
  number: 21,
  name: 'the warm-up is over when the window begins',
  look: (artifacts) =>
    artifacts.series.flatMap(({ proxy, scenario, round, rows }): Observation[] => {
      const kind = scenarioOf(artifacts, scenario)?.kind
      if ((kind !== 'steady' && kind !== 'closed') || rows.length < 3) return []
      const third = Math.floor(rows.length / 3)
      const first = mean(rows.slice(0, third).map((row) => row.ok_rate))
      const last = mean(rows.slice(-third).map((row) => row.ok_rate))
      if (first > 0 && Math.abs(last / first - 1) <= WARM_SHARE) return []
      const text = `${scenario}, round ${round + 1}: the last third differs from the first by ${percent(Math.abs(last / Math.max(first, 1) - 1))}`
      return [{ action: 'note', proxy, scenario, text }]
    }),
}

export const ratesAreReachable: HonestyTest = {
  number: 27,
  name: 'the generator reaches the rates of the ramp by itself',
  look: (artifacts) => {
    const found: Observation[] = []
    for (const scenario of artifacts.plan.scenarios.filter(({ kind }) => kind === 'ramp')) {
      const own = artifacts.series.filter((series) => series.scenario === scenario.key)
      const knee = Math.max(0, ...own.filter(({ role }) => role === 'direct').map(kneeOf))
      const best = Math.max(0, ...own.filter(({ role }) => role !== 'direct').map(kneeOf))
      if (own.every(({ role }) => role !== 'direct')) {
        const text = `${scenario.key} has no ramp of the origin alone: where the generator's own limit lies is unknown`
        found.push({ action: 'no-rank', scenario: scenario.key, text })
      } else if (knee < 1.2 * best) {
        const text = `the generator keeps up to ${Math.round(knee)}/s by itself, less than 1.2 times the best proxy: curves end there`
        found.push({ action: 'note', scenario: scenario.key, text })
      }
    }
    return found
  },
}

/** The highest offered rate at which at least nine tenths were answered well. */
export function kneeOf({ rows }: { readonly rows: Artifacts['series'][number]['rows'] }): number {
  const kept = rows.filter((row) => row.t >= 3 && row.ok_rate >= 0.9 * row.offered_rate)
  return Math.max(0, ...kept.map((row) => row.offered_rate))
}

function kindOf(artifacts: Artifacts, run: RunRecord): string | undefined {
  return scenarioOf(artifacts, run.scenario)?.kind
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / Math.max(values.length, 1)
}

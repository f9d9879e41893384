/** What was counted as an answer, and whether each request is accounted for. */
import {
  type Artifacts,
  countedRuns,
  failureShare,
  failuresOf,
  type Percentiles,
  type RunRecord,
  scenarioOf,
} from '../artifacts/records.ts'
import { type Complaint, type HonestyTest, isOfProxy, percent, worstOf } from './honesty-test.ts'

/** Beyond this share of failures a figure is no figure of the proxy's work. */
const UNRANKED_SHARE = 0.01
/** µs; what is slower is not told apart from it. */
export const HISTOGRAM_CEILING_US = 60_000_000
const SAMPLES_BEYOND_MIN = 100

export const errorsAreNoThroughput: HonestyTest = {
  number: 1,
  name: 'errors are not throughput',
  look: (artifacts) => {
    const { maxErrorRate } = artifacts.plan
    const complaints = countedRuns(artifacts).flatMap((run): Complaint[] => {
      const share = failureShare(run)
      if (share <= maxErrorRate) return []
      const action = share > UNRANKED_SHARE && isLoadAnswerable(artifacts, run) ? 'no-rank' : 'note'
      const text = `${percent(share)} of ${run.scenario} failed in round ${run.round + 1}: ${inWords(run)}`
      return [{ run, size: share, action, text }]
    })
    return worstOf(complaints)
  },
}

/** A ramp goes beyond what anybody answers, and its figure looks at the part that was answered. */
function isLoadAnswerable(artifacts: Artifacts, run: RunRecord): boolean {
  return scenarioOf(artifacts, run.scenario)?.kind !== 'ramp'
}

function inWords(run: RunRecord): string {
  const parts = Object.entries(run.status).map(([status, count]) => `${count} × ${status}`)
  for (const [kind, count] of Object.entries(run.errors)) {
    if (count > 0) parts.push(`${count} ${kind} errors`)
  }
  if (run.shed > 0) parts.push(`${run.shed} shed`)
  if (run.unsent > 0) parts.push(`${run.unsent} unsent`)
  return parts.join(', ')
}

export const saturatedHistogramIsAFloor: HonestyTest = {
  number: 7,
  name: 'a saturated histogram is a floor, not a value',
  look: (artifacts) =>
    worstOf(
      countedRuns(artifacts).flatMap((run): Complaint[] => {
        const max = run.lat_us?.sched.max ?? 0
        const isSaturated =
          run.lat_us?.sched.saturated === true || max >= 0.98 * HISTOGRAM_CEILING_US
        if (!isSaturated) return []
        const text = `latency histogram of ${run.scenario} saturated at 60 s; tail percentiles are a floor, not a value`
        return [{ run, size: max, action: 'note', text }]
      }),
    ),
}

export const percentilesAreWhatTheySay: HonestyTest = {
  number: 8,
  name: 'percentiles and counts agree with each other',
  look: (artifacts) =>
    worstOf(
      countedRuns(artifacts).flatMap((run): Complaint[] => {
        const texts: string[] = []
        for (const [clock, one] of Object.entries(run.lat_us ?? {})) {
          if (!isMonotone(one)) texts.push(`the percentiles of ${clock} do not rise`)
        }
        const counted = run.rps * run.seconds
        if (Math.abs(counted - run.ok) > Math.max(1, 0.01 * run.ok)) {
          texts.push(`${Math.round(counted)} by rate but ${run.ok} by count`)
        }
        if (texts.length === 0) return []
        const text = `${run.scenario}, round ${run.round + 1}: ${texts.join('; ')}`
        return [{ run, size: 1, action: 'fail', text }]
      }),
    ),
}

function isMonotone({ p50, p75, p90, p95, p99, p999, max }: Percentiles): boolean {
  const values = [p50, p75, p90, p95, p99, p999, max]
  return values.every((value, index) => index === 0 || value >= (values[index - 1] ?? 0))
}

export const everyRequestIsAccountedFor: HonestyTest = {
  number: 9,
  name: 'every scheduled request is accounted for',
  look: (artifacts) =>
    worstOf(
      countedRuns(artifacts).flatMap((run): Complaint[] => {
        // wrk has no schedule: what it never heard of again it does not count.
        if (run.tool === 'wrk') return []
        const sum = run.ok + failuresOf(run)
        const size = Math.abs(sum - run.scheduled)
        if (size === 0) return []
        const text = `${run.scenario}, round ${run.round + 1}: ${run.scheduled} were scheduled, ${sum} are accounted for`
        return [{ run, size, action: 'fail', text }]
      }),
    ),
}

export const tailsHaveSamples: HonestyTest = {
  number: 10,
  name: 'a percentile has enough samples beyond it',
  look: (artifacts) =>
    worstOf(
      countedRuns(artifacts).flatMap((run): Complaint[] => {
        if (run.lat_us === null || hasSamplesFor(run.lat_us.sched, 0.99)) return []
        const { count } = run.lat_us.sched
        const text = `${run.scenario} has ${count} samples, too few for p99, which needs 10,000: left blank`
        return [{ run, size: 1 / (count + 1), action: 'note', text }]
      }),
    ),
}

export function hasSamplesFor(latency: Percentiles, percentile: number): boolean {
  // Rounded, since 10,000 × (1 − 0.99) is a hair below 100 in floating point.
  return Math.round(latency.count * (1 - percentile) * 1000) / 1000 >= SAMPLES_BEYOND_MIN
}

export const theOriginAnswered: HonestyTest = {
  number: 13,
  name: 'answers come from the origin',
  look: (artifacts) =>
    worstOf(
      countedRuns(artifacts).flatMap((run): Complaint[] => {
        if (run.origin_requests === null || !isOfProxy(run)) return []
        const short = run.ok - run.origin_requests
        // Connections of the load that are cut at its end leave requests that the origin has seen alone.
        if (short <= 0.001 * run.ok) return []
        const text = `${run.scenario}: the origin saw ${run.origin_requests} requests for ${run.ok} answers: some were answered without it`
        return [{ run, size: short, action: 'fail', text }]
      }),
    ),
}

export const workIsNotShedElsewhere: HonestyTest = {
  number: 14,
  name: 'no work is shed or repeated out of sight',
  look: (artifacts) => {
    const retried = countedRuns(artifacts).flatMap((run): Complaint[] => {
      if (run.origin_requests === null || !isOfProxy(run) || run.tool === 'wrk') return []
      const seen = run.scheduled - run.shed - run.unsent
      const more = run.origin_requests - seen
      if (more <= Math.max(1, 0.001 * seen)) return []
      const text = `${run.scenario}: the origin saw ${run.origin_requests} requests for ${seen} that were sent: some were sent again`
      return [{ run, size: more, action: 'note', text }]
    })
    const dropped = artifacts.parity.proxies.flatMap(({ proxy, log, logLinesPerRequest }) => {
      if (log === 'none' || log === 'sampled' || logLinesPerRequest === null) return []
      if (logLinesPerRequest >= 0.999) return []
      const share = percent(1 - logLinesPerRequest)
      return [
        {
          action: 'note' as const,
          proxy,
          text: `${proxy} left out ${share} of its access-log lines`,
        },
      ]
    })
    return [...worstOf(retried), ...dropped]
  },
}

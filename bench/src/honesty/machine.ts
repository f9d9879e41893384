/** Whether the machine let the figures be what they claim to be. */
import {
  type Artifacts,
  busyShare,
  countedRuns,
  delayShare,
  type RunRecord,
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

export const noiseLimits = Object.freeze({
  delayShareMax: 0.05,
  foreignShareMax: 0.03,
  stealShareMax: 0.01,
  calibrationMax: 1.05,
  /** More noisy rounds than this: nothing can be said. */
  noisyRoundsMax: 1 / 3,
  driftMax: 0.03,
  idleShareMax: 0.005,
})

export const clocksAreTheCounters: HonestyTest = {
  number: 17,
  name: 'CPU is counted on its own clock, idle work apart',
  look: (artifacts) =>
    worstOf(
      countedRuns(artifacts).flatMap((run): Complaint[] => {
        if (run.cpu === null || !isOfProxy(run)) return []
        const stretch = run.cpu.elapsed_ns / 1e9 / Math.max(run.seconds, 0.001)
        if (stretch > 1.25 || stretch < 0.8) {
          const text = `${run.scenario}: the CPU counters span ${stretch.toFixed(2)} times the run`
          return [{ run, size: 10 + stretch, action: 'no-rank', text }]
        }
        const idle = run.cpu.idle_share
        if (idle === null || idle <= noiseLimits.idleShareMax) return []
        const text = `${run.proxy} uses ${percent(idle)} of a CPU without load`
        return [{ run, size: idle, action: 'note', text }]
      }),
    ),
}

export const memoryIsPrivate: HonestyTest = {
  number: 18,
  name: 'memory is private memory, idle and loaded',
  look: (artifacts) => {
    const steady = countedRuns(artifacts).filter(
      (run) =>
        run.role === 'measured' &&
        artifacts.plan.scenarios.some(({ key, kind }) => key === run.scenario && kind === 'steady'),
    )
    return worstOf(
      steady.flatMap((run): Complaint[] => {
        const { idle, loaded } = run.mem
        if (idle === null || loaded === null) {
          const text = `${run.proxy} has no memory figure ${idle === null ? 'idle' : 'loaded'} in ${run.scenario}`
          return [{ run, size: 1, action: 'note', text }]
        }
        if (loaded >= 0.5 * idle) return []
        const text = `${run.proxy} gave back memory under load in ${run.scenario}: idle was taken before it had settled`
        return [{ run, size: 2, action: 'note', text }]
      }),
    )
  },
}

/** What disturbed a run, in words; empty for a quiet one. */
export function noiseOf(run: Pick<RunRecord, 'env' | 'cpu'>): string[] {
  const reasons: string[] = []
  const delay = delayShare(run as RunRecord)
  const { foreign, steal, calibration } = run.env
  if (delay > noiseLimits.delayShareMax)
    reasons.push(`waited for its CPU ${percent(delay)} of the time`)
  if (foreign > noiseLimits.foreignShareMax)
    reasons.push(`other programs had ${percent(foreign)} of the CPUs`)
  if (steal > noiseLimits.stealShareMax) reasons.push(`the host took ${percent(steal)}`)
  if (calibration > noiseLimits.calibrationMax)
    reasons.push(`the CPU was ${percent(calibration - 1)} slower`)
  return reasons
}

export const theMachineIsQuiet: HonestyTest = {
  number: 19,
  name: 'no noise, no drift',
  look: (artifacts) => [...noisy(artifacts), ...drifting(artifacts)],
}

function noisy(artifacts: Artifacts): Observation[] {
  const found: Observation[] = []
  const runs = countedRuns(artifacts)
  for (const [scenario, own] of groupedBy(runs, (run) => run.scenario)) {
    const disturbed = own.filter((run) => noiseOf(run).length > 0)
    if (disturbed.length === 0) continue
    if (roundsOf(disturbed) > noiseLimits.noisyRoundsMax * roundsOf(own)) {
      const text = `${roundsOf(disturbed)} of ${roundsOf(own)} rounds of ${scenario} were disturbed: inconclusive`
      found.push({ action: 'no-rank', scenario, text })
    }
    found.push(
      ...worstOf(
        disturbed.map((run) => {
          const text = `${run.scenario}, round ${run.round + 1} of ${run.proxy} was noisy: ${noiseOf(run).join(', ')}`
          return { run, size: noiseOf(run).length, action: 'note', text }
        }),
      ),
    )
  }
  return found
}

function roundsOf(runs: readonly RunRecord[]): number {
  return new Set(runs.map(({ round }) => round)).size
}

function drifting(artifacts: Artifacts): Observation[] {
  const found: Observation[] = []
  const measured = countedRuns(artifacts).filter(({ role }) => role === 'measured')
  for (const own of groupedBy(measured, (run) => `${run.proxy} ${run.scenario}`).values()) {
    const [first] = own
    if (first === undefined || own.length < 5) continue
    const middle = medianOf(own.map(({ rps }) => rps))
    for (const [by, place] of [
      ['rounds', (run: RunRecord) => run.round],
      ['places in a round', (run: RunRecord) => run.pos],
    ] as const) {
      const slope = slopeOf(own.map((run) => [place(run), run.rps / middle]))
      if (Math.abs(slope) <= noiseLimits.driftMax) continue
      const text = `${first.scenario} of ${first.proxy} changes by ${percent(Math.abs(slope))} with each of the ${by}: drift`
      found.push({ action: 'note', proxy: first.proxy, scenario: first.scenario, text })
    }
  }
  return found
}

/** Of the line of least squares. */
export function slopeOf(points: readonly (readonly [number, number])[]): number {
  const meanX = points.reduce((sum, [x]) => sum + x, 0) / points.length
  const meanY = points.reduce((sum, [, y]) => sum + y, 0) / points.length
  const over = points.reduce((sum, [x, y]) => sum + (x - meanX) * (y - meanY), 0)
  const under = points.reduce((sum, [x]) => sum + (x - meanX) ** 2, 0)
  return under === 0 ? 0 : over / under
}

export const thePortsSuffice: HonestyTest = {
  number: 22,
  name: "the machine's own limits do not look like the proxy's",
  look: (artifacts) =>
    worstOf(
      countedRuns(artifacts).flatMap((run): Complaint[] => {
        const { listen_overflows, listen_drops, out_of_ports, out_of_files, tcp_timeouts } = run.net
        const parts: string[] = []
        if (out_of_ports > 0) parts.push(`${out_of_ports} × no free port`)
        if (out_of_files > 0) parts.push(`${out_of_files} × no free file`)
        if (listen_overflows + listen_drops > 0)
          parts.push(`${listen_overflows + listen_drops} connections dropped at accept`)
        if (tcp_timeouts > 10) parts.push(`${tcp_timeouts} TCP timeouts`)
        if (parts.length === 0) return []
        const action = out_of_ports + out_of_files > 0 ? 'no-rank' : 'note'
        return [{ run, size: parts.length, action, text: `${run.scenario}: ${parts.join(', ')}` }]
      }),
    ),
}

export const localIsSaidAloud: HonestyTest = {
  number: 26,
  name: 'local figures are not quoted as those of a fleet',
  look: ({ environment }) => {
    if (environment.layout === '')
      return [{ action: 'fail', text: 'the record does not say its layout' }]
    if (!environment.isLocal) return []
    return [
      {
        action: 'note',
        text: `local run over loopback, layout ${environment.layout}: ratios may be compared, absolute figures not`,
      },
    ]
  },
}

/** Beside the tests: how busy the middle run was, for tables. */
export function medianBusy(runs: readonly RunRecord[]): number | null {
  const known = runs.map(busyShare).filter((share) => share !== null)
  return known.length === 0 ? null : medianOf(known)
}

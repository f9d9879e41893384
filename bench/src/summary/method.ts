/** The paragraph under the title, from the plan: what was done, in the order in which it was done. */
import type { Artifacts, ScenarioPlan } from '../artifacts/records.ts'

export function methodOf({ plan, environment, runs }: Artifacts): string[] {
  const rounds = new Set(runs.filter(({ role }) => role === 'measured').map(({ round }) => round))
    .size
  const again = runs.some(({ role }) => role === 'again')
  return [
    `Each proxy ran alone, pinned to CPU ${environment.proxyCpus}; the origin and the load had CPU ${environment.loadCpus}.`,
    `${rounds} round${rounds === 1 ? '' : 's'} in which every proxy was measured once for each scenario, in an order that moves on from round to round.`,
    ...(again
      ? [
          `${plan.reference} was measured twice in each round: the most that it differs from itself is the noise floor, and what differs by less than twice that is a tie (~).`,
        ]
      : []),
    ...plan.scenarios.map(inWords),
    'Throughput counts answers of the expected status and length alone. Latency counts from the moment a request was due, so that a stall is charged for every request it delayed.',
    ...plan.notes,
  ]
}

function inWords(scenario: ScenarioPlan): string {
  const { title, tool, kind, connections, seconds, warmUpSeconds } = scenario
  const by = tool === 'wrk' ? 'wrk' : 'the open-loop generator'
  const load: Record<ScenarioPlan['kind'], string> = {
    capacity: `${connections} connections, as fast as they are answered (closed loop)`,
    closed: `${connections} connections, as fast as they are answered (closed loop)`,
    steady: `${scenario.perSecond ?? 0} requests per second over ${connections} connections`,
    ramp: `from ${scenario.perSecond ?? 0} to ${scenario.toPerSecond ?? 0} requests per second over ${connections} connections`,
  }
  return `${title}: ${by}, ${load[kind]}, ${seconds} s after ${warmUpSeconds} s of warm-up.`
}

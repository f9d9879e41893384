/** How long a session takes, and how long its runs may be so that it ends in time. */
import type { ScenarioPlan } from '../artifacts/records.ts'
import type { Suite } from '../suites/suite.ts'

/** Start, stop and looking around, by what was measured for the slowest to start. */
const START_SECONDS = 1.2
const REST_SECONDS = 2
/** A p99 needs 10,000 requests; a few more, since some may fail. */
const TAIL_REQUESTS = 11_000

export interface SessionSize {
  readonly proxies: number
  readonly rounds: number
  readonly hasAgain: boolean
}

export function secondsOf(
  scenarios: readonly ScenarioPlan[],
  suite: Suite,
  size: SessionSize,
): number {
  return scenarios.reduce((sum, scenario) => {
    const turns = size.proxies + (size.hasAgain ? 1 : 0)
    const direct = scenario.hasDirect ? (suite.isDirectInEachRound ? size.rounds : 1) : 0
    return sum + (turns * size.rounds + direct) * turnSeconds(scenario, suite)
  }, 0)
}

export function turnSeconds(scenario: ScenarioPlan, suite: Suite): number {
  const rest = scenario.kind === 'steady' ? REST_SECONDS : 0
  const pauses = (suite.quietMs + suite.cooldownMs) / 1_000
  return scenario.seconds + scenario.warmUpSeconds + START_SECONDS + rest + pauses
}

/** Shortens runs, all by the same share, until the session fits; what that cost is said in a note. */
export function fitted(
  scenarios: readonly ScenarioPlan[],
  suite: Suite,
  size: SessionSize,
  budgetSeconds: number,
): { scenarios: ScenarioPlan[]; notes: string[] } {
  const total = secondsOf(scenarios, suite, size)
  if (total <= budgetSeconds) return { scenarios: [...scenarios], notes: [] }
  const measured = scenarios.map((scenario) => ({ ...scenario, seconds: 0 }))
  const fixed = secondsOf(measured, suite, size)
  const share = Math.max(0, (budgetSeconds - fixed) / (total - fixed))
  const least = suite.secondsRange[0]
  const shorter = scenarios.map((scenario) => {
    // What is shorter already is so by its own plan.
    const floor = Math.min(scenario.seconds, Math.max(least, secondsForTail(scenario)))
    const seconds = Math.max(floor, Math.floor(scenario.seconds * share))
    return { ...scenario, seconds }
  })
  const [before, after] = [scenarios.at(-1)?.seconds ?? 0, shorter.at(-1)?.seconds ?? 0]
  const minutes = Math.round(budgetSeconds / 60)
  const notes = [`Runs last ${after} s instead of ${before} s, to stay within ${minutes} min.`]
  return { scenarios: shorter, notes }
}

function secondsForTail({ kind, perSecond = 0 }: ScenarioPlan): number {
  return kind === 'steady' && perSecond > 0 ? Math.ceil(TAIL_REQUESTS / perSecond) : 0
}

/** How long a session takes, and how long its runs may be so that it ends in time. */
import type { ScenarioPlan } from '../artifacts/records.ts'
import type { Suite } from '../suites/suite.ts'

/** Start, stop and looking around, by what was measured with nine proxies. */
const START_SECONDS = 0.5
const REST_SECONDS = 2
/** What a proxy makes of a request, looked at before the rounds; the time it is left alone comes on top. */
const PARITY_SECONDS = 3
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
    const later = scenario.kind === 'steady' ? (suite.lookLaterMs ?? 0) / 1_000 : 0
    return (
      sum + (turns * size.rounds + direct) * turnSeconds(scenario, suite) + size.proxies * later
    )
  }, 0)
}

/** Before the first round. */
export function paritySeconds({ proxies }: SessionSize, { probeIdleMs }: Suite): number {
  return proxies * (PARITY_SECONDS + probeIdleMs / 1_000)
}

export function turnSeconds(scenario: ScenarioPlan, suite: Suite): number {
  const rest = scenario.kind === 'steady' ? REST_SECONDS : 0
  const pauses = (suite.quietMs + suite.cooldownMs) / 1_000
  return scenario.seconds + scenario.warmUpSeconds + START_SECONDS + rest + pauses
}

export interface Fitted {
  readonly scenarios: ScenarioPlan[]
  readonly rounds: number
  /** What fitting cost, each a sentence. */
  readonly notes: string[]
}

/**
 * Shortens runs, all by the same share, until the session fits. Where the shortest runs do not fit either,
 * there are fewer rounds: every scenario is measured before any has more of them.
 */
export function fitted(
  scenarios: readonly ScenarioPlan[],
  suite: Suite,
  size: SessionSize,
  budgetSeconds: number,
): Fitted {
  const shortest = scenarios.map((scenario) => ({
    ...scenario,
    seconds: leastSeconds(scenario, suite),
  }))
  const rounds = mostRounds(shortest, suite, size, budgetSeconds)
  const shorter = shortened(scenarios, shortest, {
    suite,
    size: { ...size, rounds },
    budgetSeconds,
  })
  const notes: string[] = []
  const within = `to stay within ${Math.round(budgetSeconds / 60)} min.`
  const [before, after] = [scenarios.at(-1)?.seconds ?? 0, shorter.at(-1)?.seconds ?? 0]
  if (after < before) notes.push(`Runs last ${after} s instead of ${before} s, ${within}`)
  if (rounds < size.rounds) {
    notes.push(`There are ${rounds} rounds instead of ${size.rounds}, ${within}`)
  }
  return { scenarios: shorter, rounds, notes }
}

function mostRounds(
  shortest: readonly ScenarioPlan[],
  suite: Suite,
  size: SessionSize,
  budgetSeconds: number,
): number {
  let { rounds } = size
  while (rounds > 1 && secondsOf(shortest, suite, { ...size, rounds }) > budgetSeconds) rounds -= 1
  return rounds
}

interface Frame {
  readonly suite: Suite
  readonly size: SessionSize
  readonly budgetSeconds: number
}

function shortened(
  scenarios: readonly ScenarioPlan[],
  shortest: readonly ScenarioPlan[],
  { suite, size, budgetSeconds }: Frame,
): ScenarioPlan[] {
  const total = secondsOf(scenarios, suite, size)
  if (total <= budgetSeconds) return [...scenarios]
  const idle = scenarios.map((scenario) => ({ ...scenario, seconds: 0 }))
  const fixed = secondsOf(idle, suite, size)
  const share = Math.max(0, (budgetSeconds - fixed) / (total - fixed))
  return scenarios.map((scenario, index) => {
    const least = shortest[index]?.seconds ?? scenario.seconds
    return { ...scenario, seconds: Math.max(least, Math.floor(scenario.seconds * share)) }
  })
}

/** What is shorter already is so by its own plan. */
function leastSeconds(scenario: ScenarioPlan, suite: Suite): number {
  return Math.min(scenario.seconds, Math.max(suite.secondsRange[0], secondsForTail(scenario)))
}

function secondsForTail({ kind, perSecond = 0 }: ScenarioPlan): number {
  return kind === 'steady' && perSecond > 0 ? Math.ceil(TAIL_REQUESTS / perSecond) : 0
}

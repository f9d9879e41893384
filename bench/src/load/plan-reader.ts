/** A plan as it comes from outside the process: everything that is wrong with it, told at once. */
import type { LoadPlan } from './load-plan.ts'

/** Each is some tens of bytes in memory for the whole run. */
const REQUESTS_MAX = 50_000_000
const CONNECTIONS_MAX = 65_536

export function readPlan(text: string): LoadPlan {
  const plan = JSON.parse(text) as LoadPlan
  const problems = problemsOf(plan)
  if (problems.length > 0) throw new Error(`the plan is wrong: ${problems.join('; ')}`)
  return plan
}

function problemsOf(plan: LoadPlan): string[] {
  const { targets, requests, connections, schedule, warmUpSeconds } = plan
  const checks: readonly (readonly [boolean, string])[] = [
    [Array.isArray(targets) && targets.length > 0, 'targets: at least one'],
    [Array.isArray(requests) && requests.length > 0, 'requests: at least one'],
    [isWithin(connections, 1, CONNECTIONS_MAX), `connections: 1 to ${CONNECTIONS_MAX}`],
    [isWithin(warmUpSeconds, 0, 3600), 'warmUpSeconds: 0 to 3600'],
    [isWithin(plan.timeoutMs, 1, 3_600_000), 'timeoutMs: 1 to 3600000'],
    [isWithin(plan.deadlineMs, 0, 3_600_000), 'deadlineMs: 0 to 3600000'],
    [['tick', 'wait', 'spin'].includes(plan.pace), 'pace: tick, wait or spin'],
    [['shared', 'static'].includes(plan.assign), 'assign: shared or static'],
    [isWithin(plan.expected?.status, 100, 599), 'expected.status: 100 to 599'],
    [Array.isArray(plan.sourceAddresses), 'sourceAddresses: a list'],
    [isWithin(schedule?.seconds, 0.001, 86_400), 'schedule.seconds: 0.001 to 86400'],
    [
      isWithin(requestsIn(plan), 0, REQUESTS_MAX),
      `schedule: rates of at most ${REQUESTS_MAX} requests`,
    ],
  ]
  const wrong = checks.filter(([isRight]) => !isRight).map(([, problem]) => problem)
  for (const [index, request] of (requests ?? []).entries()) {
    if (targets?.[request.target ?? 0] === undefined)
      wrong.push(`requests[${index}].target: none such`)
  }
  return wrong
}

function requestsIn({ schedule, warmUpSeconds }: LoadPlan): number {
  switch (schedule?.kind) {
    case 'constant':
      return schedule.perSecond > 0
        ? schedule.perSecond * (schedule.seconds + warmUpSeconds)
        : Number.NaN
    case 'ramp': {
      const { fromPerSecond, toPerSecond, seconds } = schedule
      const total = ((fromPerSecond + toPerSecond) / 2) * seconds + fromPerSecond * warmUpSeconds
      return fromPerSecond >= 0 && toPerSecond > 0 ? total : Number.NaN
    }
    case 'closed':
      return 0
    default:
      return Number.NaN
  }
}

function isWithin(value: unknown, least: number, most: number): boolean {
  return typeof value === 'number' && value >= least && value <= most
}

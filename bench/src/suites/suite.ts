/** What a suite is: scenarios in order, how often and how long, and rates that depend on what was measured before. */
import type { ScenarioPlan, SuiteName } from '../artifacts/records.ts'
import type { LoadRequest } from '../load/load-plan.ts'

/** As the command line gives them; absent: the suite's own. */
export interface SuiteOptions {
  readonly rounds?: number
  readonly duration?: number
  readonly warmup?: number
  readonly connections?: number
  readonly rate?: number
  readonly rateConnections?: number
  readonly deadlineMs?: number
  readonly timeoutMs?: number
  readonly scenarios?: readonly string[]
}

export interface Suite {
  readonly name: SuiteName
  readonly proxies: readonly string[]
  readonly rounds: number
  readonly budgetSeconds: number
  /** Seconds that a run may last, so that the page's protocol stays recognisable. */
  readonly secondsRange: readonly [number, number]
  /** Without any CPU use for so long before a run. */
  readonly quietMs: number
  readonly cooldownMs: number
  /** So long after the steady load memory is read again, in the first round; absent: it is not. */
  readonly lookLaterMs?: number
  /** How long the parity probe looks for requests that nobody asked for. */
  readonly probeIdleMs: number
  /** Ports of the origin, taken in turn. */
  readonly listeners: number
  readonly hosts: readonly string[]
  readonly logsRequests: boolean
  readonly isDirectInEachRound: boolean
  scenarios(options: SuiteOptions): ScenarioPlan[]
  /** Fixes rates that follow from capacity; by proxy, good answers per second. Same scenario: nothing to fix. */
  settle(
    scenario: ScenarioPlan,
    capacities: ReadonlyMap<string, number>,
    options: SuiteOptions,
  ): ScenarioPlan
  /** What the scenario's generator sends; absent: its paths by GET. */
  requests?(scenario: ScenarioPlan, method: 'GET' | 'POST'): readonly LoadRequest[]
}

/** Our fleet mode comes with --with-control-plane. */
export const EVERY_PROXY = [
  'self',
  'nginx',
  'haproxy',
  'caddy',
  'caddy-pypi',
  'envoy',
  'traefik',
  'pingora',
  'aralez',
  'rpxy',
] as const

export const HOST = 'localhost'

export function scenario(
  over: Partial<ScenarioPlan> & Pick<ScenarioPlan, 'key' | 'title'>,
): ScenarioPlan {
  return {
    tool: 'wrk',
    kind: 'capacity',
    protocol: 'http',
    paths: ['/1k'],
    bodyBytes: 1_024,
    connections: 64,
    isConnectionPerRequest: false,
    seconds: 20,
    warmUpSeconds: 2,
    deadlineMs: 0,
    timeoutMs: 2_000,
    hasDirect: false,
    methods: ['GET'],
    ...over,
  }
}

export function withOptions(plan: ScenarioPlan, options: SuiteOptions): ScenarioPlan {
  const isSteady = plan.kind === 'steady'
  const connections = isSteady ? options.rateConnections : options.connections
  return {
    ...plan,
    seconds: options.duration ?? plan.seconds,
    warmUpSeconds: options.warmup ?? plan.warmUpSeconds,
    connections: connections ?? plan.connections,
    deadlineMs: options.deadlineMs ?? plan.deadlineMs,
    timeoutMs: options.timeoutMs ?? plan.timeoutMs,
    ...(isSteady && options.rate !== undefined ? { perSecond: options.rate } : {}),
  }
}

export function chosen(
  plans: readonly ScenarioPlan[],
  { scenarios }: SuiteOptions,
): ScenarioPlan[] {
  if (scenarios === undefined) return [...plans]
  const unknown = scenarios.filter((key) => plans.every((plan) => plan.key !== key))
  if (unknown.length > 0) {
    const known = plans.map(({ key }) => key).join(', ')
    throw new UsageError(`no scenario is called ${unknown.join(', ')}; this suite has ${known}`)
  }
  return plans.filter(({ key }) => scenarios.includes(key))
}

export class UsageError extends Error {}

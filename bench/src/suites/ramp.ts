/** The zoxy page: a rate that all hold, then a ramp past what anyone answers, by one open-loop schedule. */
import type { ScenarioPlan } from '../artifacts/records.ts'
import {
  chosen,
  EVERY_PROXY,
  HOST,
  type Suite,
  type SuiteOptions,
  scenario,
  withOptions,
} from './suite.ts'

const REFERENCE_RATE = 2_000
const REFERENCE_SHARE_OF_SLOWEST = 0.25
const [FROM_SHARE, TO_SHARE] = [0.02, 1.5]
const PLATEAU_SHARE = 1 / 3

const ALL: readonly ScenarioPlan[] = [
  scenario({ key: 'capacity', title: 'Capacity, HTTP 1 KiB', seconds: 3, hasDirect: true }),
  scenario({
    key: 'reference',
    title: 'Held reference rate',
    tool: 'generator',
    kind: 'steady',
    connections: 200,
    perSecond: REFERENCE_RATE,
    timeoutMs: 1_000,
    hasDirect: true,
  }),
  scenario({
    key: 'ramp',
    title: 'Linear ramp, HTTP 1 KiB',
    tool: 'generator',
    kind: 'ramp',
    connections: 200,
    seconds: 60,
    timeoutMs: 1_000,
    perSecond: 200,
    toPerSecond: 20_000,
    hasDirect: true,
  }),
]

export const ramp: Suite = {
  name: 'ramp',
  proxies: EVERY_PROXY,
  rounds: 1,
  budgetSeconds: 45 * 60,
  secondsRange: [30, 90],
  quietMs: 1_000,
  cooldownMs: 1_000,
  probeIdleMs: 5_000,
  listeners: 4,
  hosts: [HOST],
  logsRequests: true,
  isDirectInEachRound: true,
  scenarios: (options) =>
    chosen(
      ALL.map((plan) => shaped(plan, options)),
      options,
    ),
  settle,
}

function shaped(plan: ScenarioPlan, options: SuiteOptions): ScenarioPlan {
  const { connections = plan.connections, duration, ...others } = options
  if (plan.kind === 'capacity') return withOptions(plan, { ...others, rateConnections: 64 })
  const seconds =
    plan.kind === 'ramp'
      ? (duration ?? 60)
      : Math.max(3, Math.round((duration ?? 60) * PLATEAU_SHARE))
  return { ...withOptions(plan, { ...others, rateConnections: connections }), seconds, connections }
}

function settle(
  plan: ScenarioPlan,
  capacities: ReadonlyMap<string, number>,
  { rate }: SuiteOptions,
): ScenarioPlan {
  if (capacities.size === 0) return plan
  const slowest = Math.min(...capacities.values())
  const best = Math.max(...capacities.values())
  const hundreds = (value: number) => Math.max(100, Math.round(value / 100) * 100)
  if (plan.kind === 'steady') {
    const most = Math.min(REFERENCE_RATE, REFERENCE_SHARE_OF_SLOWEST * slowest)
    return { ...plan, perSecond: rate ?? hundreds(most) }
  }
  if (plan.kind !== 'ramp') return plan
  return { ...plan, perSecond: hundreds(FROM_SHARE * best), toPerSecond: hundreds(TO_SHARE * best) }
}

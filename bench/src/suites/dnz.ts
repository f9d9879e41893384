/** The dnz-proxy page: four capacities by wrk and a steady rate, the origin alone beside them. `quick` is some of it. */
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

const STEADY_RATE = 5_000
/** Beyond half of its limit a proxy's latency is that of its queue. */
const STEADY_SHARE_OF_SLOWEST = 0.5

const HTTP_1K = scenario({ key: 'http1k', title: 'HTTP 1 KiB', hasDirect: true })
const STEADY = scenario({
  key: 'steady',
  title: 'HTTP steady rate',
  tool: 'generator',
  kind: 'steady',
  connections: 50,
  perSecond: STEADY_RATE,
  timeoutMs: 5_000,
  hasDirect: true,
})

const ALL: readonly ScenarioPlan[] = [
  HTTP_1K,
  scenario({ key: 'https1k', title: 'HTTPS 1 KiB', protocol: 'https' }),
  scenario({
    key: 'https1k-close',
    title: 'HTTPS new conn',
    protocol: 'https',
    isConnectionPerRequest: true,
  }),
  scenario({
    key: 'http64k',
    title: 'HTTP 64 KiB',
    paths: ['/64k'],
    bodyBytes: 65_536,
    hasDirect: true,
  }),
  STEADY,
]

const common = {
  hosts: [HOST],
  listeners: 1,
  logsRequests: false,
  settle: settleRate,
} as const

export const dnz: Suite = {
  ...common,
  name: 'dnz',
  proxies: EVERY_PROXY,
  rounds: 5,
  budgetSeconds: 42 * 60,
  secondsRange: [2, 20],
  quietMs: 500,
  cooldownMs: 300,
  lookLaterMs: 30_000,
  probeIdleMs: 5_000,
  isDirectInEachRound: true,
  scenarios: (options) =>
    chosen(
      ALL.map((plan) => withOptions(plan, options)),
      options,
    ),
}

export const quick: Suite = {
  ...common,
  name: 'quick',
  proxies: ['self', 'nginx', 'haproxy'],
  rounds: 3,
  budgetSeconds: 170,
  secondsRange: [1, 3],
  quietMs: 200,
  cooldownMs: 0,
  probeIdleMs: 500,
  isDirectInEachRound: false,
  scenarios: (options) =>
    chosen(
      [HTTP_1K, ALL[1] ?? HTTP_1K, STEADY].map((plan) =>
        withOptions({ ...plan, warmUpSeconds: 1 }, options),
      ),
      options,
    ),
}

function settleRate(
  plan: ScenarioPlan,
  capacities: ReadonlyMap<string, number>,
  { rate }: SuiteOptions,
): ScenarioPlan {
  if (plan.kind !== 'steady' || rate !== undefined || capacities.size === 0) return plan
  const slowest = Math.min(...capacities.values())
  const most = Math.floor((STEADY_SHARE_OF_SLOWEST * slowest) / 100) * 100
  return { ...plan, perSecond: Math.max(100, Math.min(STEADY_RATE, most)) }
}

/** The rpxy page: 512 connections for 15 s on a page of 615 bytes, and what wrk counts with the same. */
import type { ScenarioPlan } from '../artifacts/records.ts'
import { chosen, HOST, type Suite, scenario, withOptions } from './suite.ts'

const PAGE = { paths: ['/'], bodyBytes: 615, connections: 512, seconds: 15 } as const

const ALL: readonly ScenarioPlan[] = [
  scenario({
    ...PAGE,
    key: 'rewrk',
    title: 'HTTP 615 bytes, 512 connections',
    tool: 'generator',
    kind: 'closed',
    timeoutMs: 10_000,
    hasDirect: true,
  }),
  scenario({ ...PAGE, key: 'capacity', title: 'The same by wrk', hasDirect: true }),
]

export const rewrk: Suite = {
  name: 'rewrk',
  proxies: ['self', 'nginx', 'haproxy', 'caddy', 'rpxy'],
  rounds: 1,
  budgetSeconds: 20 * 60,
  secondsRange: [5, 15],
  quietMs: 500,
  /** The page sleeps as long between two proxies. */
  cooldownMs: 3_000,
  probeIdleMs: 3_000,
  listeners: 1,
  hosts: [HOST],
  logsRequests: false,
  isDirectInEachRound: true,
  scenarios: (options) =>
    chosen(
      ALL.map((plan) => withOptions(plan, options)),
      options,
    ),
  settle: (plan) => plan,
}

/** The Aralez page: a closed loop over more and more connections, 60 URLs of three hosts, GET and POST beside each other. */
import type { ScenarioPlan } from '../artifacts/records.ts'
import type { LoadRequest } from '../load/load-plan.ts'
import { chosen, type Suite, type SuiteOptions, scenario, withOptions } from './suite.ts'

/** Of each of the two processes. The page's greatest step has 32,768, for which loopback has too few ports. */
const STEPS = [64, 128, 256, 512, 1_024, 2_048]
const HOSTS = ['one.test', 'two.test', 'three.test']
const URLS = 60
/** Five of six are asked for by TLS. */
const TLS_EVERY = 6
/** What the origin answers to paths without a size of their own. */
export const TEXT_BYTES = 3_820
const BODY = JSON.stringify({
  name: 'sweep',
  items: Array.from({ length: 12 }, (_, index) => ({ index })),
})

export const sweep: Suite = {
  name: 'sweep',
  proxies: ['self', 'nginx', 'haproxy'],
  rounds: 1,
  budgetSeconds: 45 * 60,
  secondsRange: [5, 30],
  quietMs: 500,
  cooldownMs: 1_000,
  probeIdleMs: 3_000,
  listeners: 3,
  hosts: HOSTS,
  logsRequests: false,
  isDirectInEachRound: false,
  scenarios: (options) => chosen(plans(options), options),
  settle: (plan) => plan,
  requests: urls,
}

function plans(options: SuiteOptions): ScenarioPlan[] {
  const { connections, ...others } = options
  return STEPS.filter((step) => connections === undefined || step <= connections).map((step) =>
    withOptions(
      scenario({
        key: `c${step}`,
        title: `2 × ${step}`,
        tool: 'generator',
        kind: 'closed',
        protocol: 'mixed',
        paths: urls(undefined, 'GET').map(({ path }) => path),
        bodyBytes: TEXT_BYTES,
        connections: 2 * step,
        seconds: 30,
        timeoutMs: 5_000,
        methods: ['GET', 'POST'],
      }),
      others,
    ),
  )
}

/** Target 0 is the plain port and 1 that of TLS. */
function urls(_plan: ScenarioPlan | undefined, method: 'GET' | 'POST'): LoadRequest[] {
  return Array.from({ length: URLS }, (_, index): LoadRequest => {
    const query = index % 7 === 0 ? `?page=${index}&sort=asc` : ''
    const path = `/catalogue/part-${index % 5}/item-${index}/details${query}`
    const request = {
      method,
      path,
      host: HOSTS[index % HOSTS.length] ?? '',
      target: index % TLS_EVERY === 0 ? 0 : 1,
    }
    if (method === 'GET') return request
    return { ...request, body: BODY, fields: { 'content-type': 'application/json' } }
  })
}

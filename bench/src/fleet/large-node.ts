/**
 * A real node with very many routers, under steady traffic: how long one change takes until it serves it, and
 * what changes do to the latency of the traffic.
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { runLoad } from '../load/run-load.ts'
import { columns, range } from '../report.ts'
import { type Spread, spreadOf } from '../statistics.ts'
import type { MeasuredControlPlane } from './control-plane.ts'
import { percentile } from './figures.ts'
import { RealNode } from './real-node.ts'
import { applyRouters, changeRouter, hostOf } from './resources.ts'

const PER_SECOND = 500
const CONNECTIONS = 32
const ROUND_SECONDS = 5
const CHANGE_EVERY_MS = 500
const BODY = Buffer.alloc(1_024, 'x')

export interface LargeNodeFigures {
  readonly startSeconds: number
  /** From the write to the control plane until all workers serve it. */
  readonly appliedP50Ms: number
  readonly appliedMaxMs: number
  /** With two changes a second, relative to none in the same round. */
  readonly trafficP50: Spread
  readonly trafficP99: Spread
  readonly failed: number
}

export async function measureLargeNode(
  controlPlane: MeasuredControlPlane,
  directory: string,
  routers: number,
  rounds: number,
): Promise<LargeNodeFigures> {
  const origin = createServer((_, response) => {
    response.writeHead(200, { 'content-length': BODY.length }).end(BODY)
  }).listen(0, '127.0.0.1')
  await once(origin, 'listening')
  try {
    await applyRouters(controlPlane, routers, (origin.address() as AddressInfo).port)
    const node = await RealNode.start(controlPlane, directory)
    try {
      return await measure(controlPlane, node, routers, rounds)
    } finally {
      await node.stop()
    }
  } finally {
    origin.close()
    origin.closeAllConnections()
  }
}

async function measure(
  controlPlane: MeasuredControlPlane,
  node: RealNode,
  routers: number,
  rounds: number,
): Promise<LargeNodeFigures> {
  const appliedMs: number[] = []
  const p50: number[] = []
  const p99: number[] = []
  let failed = 0
  let priority = 0
  let { version } = await controlPlane.call<{ version: number }>('GET', 'status')
  const load = async () => {
    const result = await steadyLoad(node.port, routers)
    failed += result.scheduled - result.ok
    return result.latency.release
  }
  const change = async () => {
    priority += 1
    version += 1
    const began = performance.now()
    await changeRouter(controlPlane, priority)
    await node.untilApplied(version)
    appliedMs.push(performance.now() - began)
  }
  await change()
  appliedMs.length = 0
  for (let round = 0; round < rounds; round += 1) {
    const quiet = await load()
    const changing = { isOver: false }
    const traffic = load().finally(() => {
      changing.isOver = true
    })
    while (!changing.isOver) {
      await change()
      await delay(CHANGE_EVERY_MS)
    }
    const busy = await traffic
    p50.push(busy.p50 / quiet.p50)
    p99.push(busy.p99 / quiet.p99)
  }
  return {
    startSeconds: node.readyMs / 1_000,
    appliedP50Ms: percentile(appliedMs, 0.5),
    appliedMaxMs: percentile(appliedMs, 1),
    trafficP50: spreadOf(p50),
    trafficP99: spreadOf(p99),
    failed,
  }
}

/** Asks the hosts of some routers over all of them in turn. */
function steadyLoad(port: number, routers: number) {
  const requests = Array.from({ length: CONNECTIONS }, (_, index) => ({
    method: 'GET' as const,
    path: '/',
    host: hostOf(Math.floor((index * routers) / CONNECTIONS)),
  }))
  return runLoad(
    {
      targets: [{ address: '127.0.0.1', port }],
      requests,
      connections: CONNECTIONS,
      schedule: { kind: 'constant', perSecond: PER_SECOND, seconds: ROUND_SECONDS },
      warmUpSeconds: 1,
      pace: 'tick',
      assign: 'shared',
      deadlineMs: 0,
      timeoutMs: 10_000,
      isConnectionPerRequest: false,
      expected: { status: 200, bodyBytes: BODY.length },
      sourceAddresses: [],
    },
    { processors: '0-1' },
  )
}

const APPLIED_MS_MAX = 200
const P99_MAX = 1.1

/** The bounds are for 100,000 routers. */
export function renderLargeNode(figures: LargeNodeFigures, routers: number): string {
  const { startSeconds, appliedP50Ms, appliedMaxMs, trafficP50, trafficP99, failed } = figures
  const verdict = (isMet: boolean) => (isMet ? 'met' : 'NOT met')
  const rows = [
    ['start of the node, with joining', `${startSeconds.toFixed(1)} s`, '', ''],
    [
      'one router changed, applied: p50',
      `${appliedP50Ms.toFixed(0)} ms`,
      `at most ${APPLIED_MS_MAX}`,
      verdict(appliedP50Ms <= APPLIED_MS_MAX),
    ],
    ['one router changed, applied: the longest', `${appliedMaxMs.toFixed(0)} ms`, '', ''],
    ['p50 of traffic with two changes a second, without = 1', range(trafficP50), '', ''],
    ['its p99', range(trafficP99), `at most ${P99_MAX}`, verdict(trafficP99.median <= P99_MAX)],
    ['failed requests', String(failed), 'at most 0', verdict(failed === 0)],
  ]
  return ['', `a node with ${routers} routers`, '', ...columns(rows), '', ''].join('\n')
}

export function isWithinBounds({ appliedP50Ms, trafficP99, failed }: LargeNodeFigures): boolean {
  return appliedP50Ms <= APPLIED_MS_MAX && trafficP99.median <= P99_MAX && failed === 0
}

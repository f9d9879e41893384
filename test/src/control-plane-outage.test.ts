/** The control plane is gone while requests flow: the fleet serves on, and nothing that it counted is lost. */
import { expect } from 'vitest'
import type { Traffic } from './harness/api-client.ts'
import { claims } from './harness/claims.ts'
import { DataPlaneNode } from './harness/data-plane-node.ts'
import { eventually } from './harness/eventually.ts'
import { type Fleet, startFleet } from './harness/fleet.ts'
import { type Load, startLoad } from './harness/load/start-load.ts'
import { startEchoOrigin } from './harness/origins/start-echo-origin.ts'
import { freePort } from './harness/ports.ts'
import { routeTo } from './harness/routes.ts'
import type { Scope } from './harness/scope.ts'

const BACK_MS = 5_000

const { it } = claims()

it('a control plane killed under load costs no request, a node restarted meanwhile serves from disk, and afterwards every request is counted once', async (scope) => {
  const origin = await startEchoOrigin(scope, 'echo')
  const fleet = await startFleet(scope, { nodes: 2 })
  const [steady, restarted] = fleet.nodes
  const host = await routeTo(fleet, [origin])
  const startedAt = Date.now()
  const loadOn = (node: DataPlaneNode) => startPaced(scope, node, host)

  const through = loadOn(steady!)
  const before = loadOn(restarted!)
  await Promise.all([through.untilMore(100), before.untilMore(100)])
  await fleet.controlPlane.kill()
  await Promise.all([through.untilMore(200), before.untilMore(100)])
  const results = [await before.stop()]

  await restarted!.stop()
  expect(restarted!.process.exit).toEqual({ code: 0, signal: null })
  restarted!.startAgain()
  await restarted!.untilReady()
  expect(await restarted!.status()).toMatchObject({ source: 'disk', controlPlane: 'disconnected' })
  const after = loadOn(restarted!)
  await Promise.all([through.untilMore(200), after.untilMore(200)])

  await fleet.controlPlane.startAgain()
  await fleet.untilInSync(undefined, BACK_MS)
  expect((await fleet.nodeViews()).map((view) => view.isConnected)).toEqual([true, true])
  await Promise.all([through.untilMore(100), after.untilMore(100)])
  results.push(await through.stop(), await after.stop())

  expect(results.flatMap((result) => result.failures)).toEqual([])
  const sent = results.reduce((sum, result) => sum + result.sent, 0)
  await expectCounted(fleet, startedAt, sent)

  // More requests, so that batches sent again would show as too many.
  const more = await startPaced(scope, steady!, host, 50).result()
  await expectCounted(fleet, startedAt, sent + more.sent)
})

it('counters stay exact when the control plane is killed again and again', async (scope) => {
  const origin = await startEchoOrigin(scope, 'echo')
  const fleet = await startFleet(scope)
  const host = await routeTo(fleet, [origin])
  const startedAt = Date.now()
  const load = startPaced(scope, fleet.node, host)
  for (let round = 1; round <= 3; round += 1) {
    await load.untilMore(200)
    await fleet.controlPlane.kill()
    await fleet.controlPlane.startAgain()
    await fleet.untilInSync(undefined, BACK_MS)
  }
  const result = await load.stop()
  expect(result.failures).toEqual([])
  await expectCounted(fleet, startedAt, result.sent)
})

it('a node that never had a version is alive and not ready', async (scope) => {
  const node = await DataPlaneNode.start(scope, {
    controlPlane: `127.0.0.1:${await freePort()}`,
    joinToken: `sluice-join.${'A'.repeat(43)}.${'A'.repeat(43)}`,
    ports: { web: await freePort() },
  })
  const healthy = async () => (await node.probe('/healthz')).status === 200
  await eventually(healthy, { withinMs: 10_000, that: 'a node that lives' })
  const { status, text } = await node.probe('/readyz')
  expect(status).toBe(503)
  expect(text.length).toBeGreaterThan(0)
})

function startPaced(scope: Scope, node: DataPlaneNode, host: string, requestsMax?: number): Load {
  return startLoad(scope, {
    port: node.port(),
    host,
    connections: 8,
    work: 'small',
    path: '/load',
    expected: 'echo /load',
    requestsPerSecondMax: 200,
    ...(requestsMax === undefined ? {} : { requestsMax }),
  })
}

/** The sums by node, by router and by service all reach the number of requests sent. */
async function expectCounted(fleet: Fleet, from: number, sent: number): Promise<void> {
  for (const by of ['node', 'router', 'service']) {
    let counted = 0
    const look = async () => {
      counted = await countedBy(fleet, by, from)
      return counted >= sent
    }
    await eventually(look, { withinMs: 15_000, that: `${sent} requests counted by ${by}` }).catch(
      () => expect(`${counted} counted by ${by}`).toBe(`${sent} counted by ${by}`),
    )
    expect(`${counted} counted by ${by}`).toBe(`${sent} counted by ${by}`)
  }
}

async function countedBy(fleet: Fleet, by: string, from: number): Promise<number> {
  // Whole minutes: the range begins with the minute of the first request.
  const first = from - (from % 60_000)
  const range = `from=${first}&to=${Date.now() + 60_000}`
  const traffic = await fleet.api.get<Traffic>(`/api/v1/analytics/traffic?by=${by}&${range}`)
  const points = traffic.series.flatMap((one) => one.points)
  return points.reduce((sum, point) => sum + point.requests.total, 0)
}

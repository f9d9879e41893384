/** Configuration that changes while requests flow. */
import { expect } from 'vitest'
import { claims } from './harness/claims.ts'
import { eventually } from './harness/eventually.ts'
import { type Fleet, router, service, startFleet } from './harness/fleet.ts'
import { statusOf } from './harness/http-text.ts'
import { type Load, startLoad } from './harness/load/start-load.ts'
import { ScriptedOrigin } from './harness/origins/scripted-origin.ts'
import { startEchoOrigin } from './harness/origins/start-echo-origin.ts'
import { get, RawClient } from './harness/raw-client.ts'
import { routeTo } from './harness/routes.ts'
import type { Scope } from './harness/scope.ts'

const LIVE_MS = 1_000
const RATE = 150

const { it, suite, before } = claims()
let fleet: Fleet
let echoPort: number

before(async () => {
  fleet = await startFleet(suite, { nodes: 3 })
  echoPort = await startEchoOrigin(suite, 'echo')
})

it('a router added through the API answers on every node within 1 s', async (scope) => {
  const origin = await ScriptedOrigin.start(scope)
  await fleet.publish(service('quick', [origin.port]))
  const clients = await Promise.all(fleet.nodes.map((node) => RawClient.open(scope, node.port())))
  for (let round = 1; round <= 5; round += 1) {
    const { kind: _, ...body } = router(`quick-${round}`, `quick-${round}.test`, 'quick')
    const startedAt = performance.now()
    await fleet.api.post('/api/v1/routers', body)
    const asked = clients.map((client) =>
      eventually(
        async () => statusOf(await client.send(get(`quick-${round}.test`, '/')).answer()) === 200,
        { withinMs: LIVE_MS, that: 'the new router on every node' },
      ),
    )
    await Promise.all(asked)
    expect(performance.now() - startedAt).toBeLessThan(LIVE_MS)
  }
})

it('a deleted router answers 404 on every node within 1 s', async (scope) => {
  const host = await routeTo(fleet, [echoPort])
  const name = host.replace('.test', '')
  const startedAt = performance.now()
  await fleet.api.delete(`/api/v1/routers/${name}`)
  for (const node of fleet.nodes) {
    const client = await RawClient.open(scope, node.port())
    await eventually(async () => statusOf(await client.send(get(host, '/')).answer()) === 404, {
      withinMs: LIVE_MS,
      that: 'the router gone',
    })
  }
  expect(performance.now() - startedAt).toBeLessThan(LIVE_MS)
})

it('adding, changing and deleting routers under load fails no request of the others', async (scope) => {
  const host = await routeTo(fleet, [echoPort])
  const loads = startOnEveryNode(scope, host)
  await Promise.all(loads.map((load) => load.untilMore(50)))
  for (let round = 1; round <= 8; round += 1) {
    const name = `busy-${round}`
    const { api } = fleet
    await api.apply(service(name, [echoPort]), router(name, `${name}.test`, name))
    await api.call('PATCH', `/api/v1/routers/${name}`, { body: { priority: round } })
    await api.call('PATCH', `/api/v1/services/${name}`, { body: { timeouts: { idleMs: 1_000 } } })
    await api.delete(`/api/v1/routers/${name}`)
    await api.delete(`/api/v1/services/${name}`)
  }
  await fleet.untilInSync((await fleet.status()).version)
  await Promise.all(loads.map((load) => load.untilMore(50)))
  for (const load of loads) expect((await load.stop()).failures).toEqual([])
})

it('moving a router between services, and changing the one it uses, under load fails none of its own requests', async (scope) => {
  const host = await routeTo(fleet, [echoPort])
  const name = host.replace('.test', '')
  const second = await startEchoOrigin(scope, 'echo')
  await fleet.publish(service(`${name}-2`, [second]))
  const loads = startOnEveryNode(scope, host)
  await Promise.all(loads.map((load) => load.untilMore(50)))
  for (let round = 1; round <= 8; round += 1) {
    const target = round % 2 === 0 ? name : `${name}-2`
    await fleet.publish(router(name, host, target))
    await fleet.publish(service(target, round % 3 === 0 ? [second] : [echoPort, second]))
  }
  await Promise.all(loads.map((load) => load.untilMore(50)))
  for (const load of loads) expect((await load.stop()).failures).toEqual([])
})

function startOnEveryNode(scope: Scope, host: string): Load[] {
  return fleet.nodes.map((node) =>
    startLoad(scope, {
      port: node.port(),
      host,
      connections: 8,
      work: 'small',
      path: '/load',
      expected: 'echo /load',
      requestsPerSecondMax: RATE,
    }),
  )
}

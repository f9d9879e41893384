/** Streams between a node and its control plane that are cut, delayed, mixed up or half open: no version and no count is lost or doubled. */
import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'vitest'
import type { NodeView, Traffic } from './harness/api-client.ts'
import { claims } from './harness/claims.ts'
import { ControlPlane } from './harness/control-plane.ts'
import { eventually } from './harness/eventually.ts'
import { entryPoint, Fleet, joinNode, router, service } from './harness/fleet.ts'
import { type Load, startLoad } from './harness/load/start-load.ts'
import { startEchoOrigin } from './harness/origins/start-echo-origin.ts'
import { RoughProxy } from './harness/rough-proxy.ts'
import type { Scope } from './harness/scope.ts'

const { it } = claims()
const VERSIONS = 20
/** When nothing was cut by then, cutting does not work. */
const VERSIONS_MAX = 100
const ROUTERS = 60
/** A control plane gives up a connection on which nothing is answered after two of its pings. */
const GIVEN_UP = { withinMs: 30_000 }

interface Scene {
  readonly fleet: Fleet
  readonly proxy: RoughProxy
  readonly load: Load
}

async function startScene(scope: Scope): Promise<Scene> {
  const echo = await startEchoOrigin(scope, 'echo')
  const controlPlane = await ControlPlane.start(scope)
  const proxy = await RoughProxy.start(scope, controlPlane.fleetPort)
  await controlPlane.api.apply(entryPoint('web'))
  const address = `127.0.0.1:${proxy.port}`
  const node = await joinNode(scope, controlPlane, { name: 'n1', controlPlane: address })
  const fleet = new Fleet(controlPlane, [await node.untilReady()])
  await fleet.publish(service('s', [echo]), router('counted', 'counted.test', 's'))
  const plan = { connections: 4, work: 'small', path: '/load', expected: 'echo /load' } as const
  const port = node.port()
  const load = startLoad(scope, { ...plan, port, host: 'counted.test', requestsPerSecondMax: 100 })
  await load.untilMore(20)
  return { fleet, proxy, load }
}

async function counted({ api }: Fleet): Promise<number> {
  const minute = Math.floor(Date.now() / 60_000) * 60_000
  const range = `from=${minute - 600_000}&to=${minute + 60_000}`
  const traffic = await api.get<Traffic>(`/api/v1/analytics/traffic?by=router&${range}`)
  const points = traffic.series.filter(({ key }) => key === 'counted').flatMap((one) => one.points)
  return points.reduce((sum, point) => sum + point.requests.total, 0)
}

async function expectExact({ fleet, load }: Scene): Promise<void> {
  const { sent, failures } = await load.stop()
  expect(failures).toEqual([])
  await eventually(async () => (await counted(fleet)) >= sent, {
    withinMs: 15_000,
    that: `${sent} requests counted`,
  })
  expect(await counted(fleet)).toBe(sent)
}

it('a node behind a connection that is cut, delayed and mixed up at random ends in sync with every byte right and every request counted once', async (scope) => {
  const scene = await startScene(scope)
  const { fleet, proxy } = scene
  proxy.isRough = true
  let version = 0
  for (
    let number = 1;
    number <= VERSIONS_MAX && (number <= VERSIONS || proxy.cuts === 0 || proxy.swaps === 0);
    number += 1
  ) {
    // Far more than a first flow-control window, in every version.
    const fields = { priority: number, match: { hosts: [], pathPrefixes: [`/${'x'.repeat(900)}`] } }
    const routers = Array.from({ length: ROUTERS }, (_, index) => ({
      ...router(`r${index}`, 'x.test', 's'),
      ...fields,
    }))
    ;({ version } = await fleet.api.apply(...routers))
    await delay(Math.random() * 300)
  }
  proxy.isRough = false
  await fleet.untilInSync(version, 20_000)
  expect(proxy.cuts).toBeGreaterThan(0)
  expect(proxy.swaps).toBeGreaterThan(0)
  const { hash } = await fleet.status()
  expect(await fleet.node.status()).toMatchObject({ version, hash, source: 'control-plane' })
  await expectExact(scene)
})

it('a node that comes back while its old streams are half open takes their place, and they are ended', async (scope) => {
  const scene = await startScene(scope)
  const { fleet, proxy, load } = scene
  const before = await fleet.nodeView()
  const rounds = 3
  for (let round = 1; round <= rounds; round += 1) {
    const { connectedAt } = (await fleet.nodeView()) as NodeView & { connectedAt: string }
    proxy.cutClients()
    // Published while the control plane may still take the old stream for the node's.
    const { version } = await fleet.api.apply(router(`round-${round}`, 'x.test', 's'))
    await eventually(
      async () => {
        const view = (await fleet.nodeView()) as NodeView & { connectedAt: string }
        return view.isConnected && view.connectedAt !== connectedAt
      },
      { withinMs: 15_000, that: 'the new stream in place of the old one' },
    )
    await fleet.untilInSync(version)
    await load.untilMore(50)
  }
  expect(await fleet.nodeView()).toMatchObject({ id: before.id, bootId: before.bootId })
  await eventually(() => proxy.halfOpenCount === 0, {
    ...GIVEN_UP,
    that: 'the end of the old ones',
  })
  await expectExact(scene)
})

/** What the API says of nodes, and how soon: applied, rejected, gone, revoked. */
import { once } from 'node:events'
import { createServer } from 'node:net'
import { expect } from 'vitest'
import type { NodeView } from './harness/api-client.ts'
import { claims } from './harness/claims.ts'
import { eventually } from './harness/eventually.ts'
import { entryPoint, type Fleet, joinNode, router, service, startFleet } from './harness/fleet.ts'
import { credentialsOf, endOf, enrolIdentity, fleetClient } from './harness/fleet-client.ts'
import { statusOf } from './harness/http-text.ts'
import { ScriptedOrigin } from './harness/origins/scripted-origin.ts'
import { freePort } from './harness/ports.ts'
import { exchange, get } from './harness/raw-client.ts'
import { routeTo } from './harness/routes.ts'

const VISIBLE_MS = 1_000
const CUT_OFF_MS = 2_000

const { it } = claims()

it('a node that applied a version is shown in sync with its number and hash within a second', async (scope) => {
  const fleet = await startFleet(scope)
  const { version } = await fleet.api.apply(service('s', [1]), router('r', 'r.test', 's'))
  await fleet.untilInSync(version, VISIBLE_MS)
  const [view, status] = [await fleet.nodeView(), await fleet.status()]
  expect(view).toMatchObject({ state: 'in-sync', isConnected: true, version, hash: status.hash })
  expect(Date.now() - Date.parse(view.appliedAt!)).toBeLessThan(10_000)
  expect(status.nodes).toMatchObject({ total: 1, connected: 1, inSync: 1, rejected: 0 })
  expect(await fleet.node.status()).toMatchObject({ hash: status.hash, source: 'control-plane' })
})

it('a version that one node cannot apply is shown rejected there within a second, with the reason, while that node serves the one before', async (scope) => {
  const origin = await ScriptedOrigin.start(scope)
  const fleet = await startFleet(scope)
  const host = await routeTo(fleet, [origin.port])
  const taken = await freePort()
  const second = await joinNode(scope, fleet.controlPlane, {
    name: 'n2',
    ports: { web: await freePort(), extra: taken },
  })
  await second.untilReady()
  await fleet.untilInSync()
  const before = await fleet.nodeView('n2')
  const squatter = createServer().listen(taken, '127.0.0.1')
  scope.defer(() => squatter.close())
  await once(squatter, 'listening')
  const free = `127.0.0.1:${await freePort()}`
  const { version } = await fleet.api.apply(entryPoint('extra', { address: free }))
  const rejected = await eventually(
    async () => {
      const view = await fleet.nodeView('n2')
      return view.state === 'rejected' ? view : undefined
    },
    { withinMs: VISIBLE_MS, that: 'the rejection in the API' },
  )
  expect(rejected).toMatchObject({ version: before.version, rejected: { version } })
  expect(rejected.rejected!.problems).toHaveLength(1)
  expect(rejected.rejected!.problems[0]).toMatchObject({
    kind: 'entry-point',
    name: 'extra',
    field: 'address',
    reason: expect.stringMatching(/in use/),
  })
  expect(statusOf(await exchange(scope, second.port(), get(host, '/')))).toBe(200)
  await eventually(
    async () => {
      const { state, version: running } = await fleet.nodeView('n1')
      return state === 'in-sync' && running === version
    },
    { withinMs: VISIBLE_MS, that: 'the other node in sync' },
  )
  await expectHealedByNextVersion(fleet, squatter)
})

async function expectHealedByNextVersion(
  fleet: Fleet,
  squatter: ReturnType<typeof createServer>,
): Promise<void> {
  squatter.close()
  await once(squatter, 'close')
  await fleet.publish(service('later', [1]))
  expect(await fleet.nodeView('n2')).toMatchObject({ state: 'in-sync', rejected: null })
}

it('a node that is gone is shown as lost, and in sync again when it is back', async (scope) => {
  const fleet = await startFleet(scope)
  await fleet.node.stop()
  const lost = async () => (await fleet.nodeView()).state === 'lost'
  await eventually(lost, { withinMs: 5_000, that: 'the node shown as lost' })
  expect(await fleet.nodeView()).toMatchObject({ isConnected: false })
  const { bootId } = await fleet.nodeView()
  fleet.node.startAgain()
  await fleet.node.untilReady()
  await fleet.untilInSync()
  expect((await fleet.nodeView()).bootId).not.toBe(bootId)
})

it('revoking a node ends its streams within 2 s and refuses new ones, and it is told nothing more', async (scope) => {
  const fleet = await startFleet(scope, { nodes: 2 })
  const kept = fleet.nodes[1]!
  const { version } = await fleet.status()
  const answer = await fleet.api.post<NodeView>(`/api/v1/nodes/${fleet.node.name}/revoke`)
  expect(answer.state).toBe('revoked')
  const cutOff = async () => (await fleet.node.status()).controlPlane === 'disconnected'
  await eventually(cutOff, { withinMs: CUT_OFF_MS, that: 'the node cut off' })
  const next = await fleet.api.apply(service('secret', [1]))
  const told = async () => (await fleet.nodeView(kept.name)).version === next.version
  await eventually(told, { withinMs: 5_000, that: 'the other node in sync' })
  expect(await fleet.nodeView()).toMatchObject({ state: 'revoked', isConnected: false, version })
  await fleet.node.stop()
  fleet.node.startAgain()
  await fleet.node.untilReady()
  expect(await fleet.node.status()).toMatchObject({ source: 'disk', controlPlane: 'disconnected' })
})

it('a stream of a revoked identity is refused with PERMISSION_DENIED', async (scope) => {
  const fleet = await startFleet(scope)
  const identity = await enrolIdentity(scope, fleet.controlPlane, 'by-hand')
  const client = fleetClient(scope, fleet.controlPlane, credentialsOf(identity))
  const stream = client.configure()
  const ended = endOf(stream as never, CUT_OFF_MS + 3_000)
  stream.write(hello(identity.nodeId))
  await untilConnected(fleet, 'by-hand')
  await fleet.api.post('/api/v1/nodes/by-hand/revoke')
  const revokedAt = performance.now()
  expect((await ended).code).toBe('PERMISSION_DENIED')
  expect(performance.now() - revokedAt).toBeLessThan(CUT_OFF_MS)
  const again = fleetClient(scope, fleet.controlPlane, credentialsOf(identity)).configure()
  again.write(hello(identity.nodeId))
  expect((await endOf(again as never)).code).toBe('PERMISSION_DENIED')
})

it('everything is there after a restart of the control plane: numbers, hashes, nodes, counters', async (scope) => {
  const origin = await ScriptedOrigin.start(scope)
  const fleet = await startFleet(scope)
  const host = await routeTo(fleet, [origin.port])
  await fleet.api.apply({ kind: 'certificate', name: 'c', source: 'internal', hosts: ['c.test'] })
  await exchange(scope, fleet.node.port(), get(host, '/counted'))
  await fleet.untilInSync((await fleet.status()).version)
  await untilCounted(fleet)
  const before = await remembered(fleet)
  await fleet.controlPlane.stop()
  expect(fleet.controlPlane.process.exit).toEqual({ code: 0, signal: null })
  await fleet.controlPlane.startAgain()
  await fleet.untilInSync()
  expect(await remembered(fleet)).toEqual(before)
})

async function untilCounted(fleet: Fleet): Promise<void> {
  const counted = async () =>
    (await fleet.api.get<{ series: unknown[] }>('/api/v1/analytics/traffic?by=router')).series
      .length > 0
  await eventually(counted, { withinMs: 10_000, that: 'the request counted' })
  const logged = async () =>
    (await fleet.api.get<{ items: unknown[] }>('/api/v1/logs')).items.length > 0
  await eventually(logged, { withinMs: 10_000, that: 'the request logged' })
}

/** What must survive, as the API tells it. */
async function remembered(fleet: Fleet): Promise<unknown> {
  const paths = [
    'entry-points',
    'routers',
    'services',
    'certificates',
    'settings',
    'versions',
    'logs',
  ]
  const pages = await Promise.all(paths.map((path) => fleet.api.get(`/api/v1/${path}`)))
  const hour = Math.floor(Date.now() / 3_600_000) * 3_600_000
  const range = `from=${hour - 3_600_000}&to=${hour + 3_600_000}`
  const traffic = await fleet.api.get(`/api/v1/analytics/traffic?by=router&${range}`)
  const { version, hash } = await fleet.status()
  const { id, state, version: applied } = await fleet.nodeView()
  return { pages, traffic, version, hash, node: { id, state, applied } }
}

async function untilConnected(fleet: Fleet, name: string): Promise<void> {
  const connected = async () => (await fleet.nodeView(name)).isConnected
  await eventually(connected, { withinMs: 5_000, that: `${name} connected` })
}

function hello(nodeId: string) {
  return {
    message: {
      $case: 'hello' as const,
      value: {
        nodeId,
        bootId: 'by-hand',
        softwareVersion: '0.0.0',
        features: [],
        version: 0n,
        hash: '',
        workers: 1,
        timeMs: BigInt(Date.now()),
        appliedAtMs: 0n,
        uptimeMs: 0n,
      },
    },
  }
}

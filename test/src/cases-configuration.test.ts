/** Group (g) of the public cases: bad updates, a control plane that lost its store, twins, long connections, missing certificates. */
import { rename } from 'node:fs/promises'
import type { TLSSocket } from 'node:tls'
import { expect } from 'vitest'
import { claims } from './harness/claims.ts'
import { ControlPlane } from './harness/control-plane.ts'
import { DataPlaneNode } from './harness/data-plane-node.ts'
import { eventually } from './harness/eventually.ts'
import { entryPoint, Fleet, joinNode, router, service, startFleet } from './harness/fleet.ts'
import { statusOf } from './harness/http-text.ts'
import { startLoad } from './harness/load/start-load.ts'
import { type OriginConnection, ScriptedOrigin } from './harness/origins/scripted-origin.ts'
import { startEchoOrigin } from './harness/origins/start-echo-origin.ts'
import { exchange, get, RawClient } from './harness/raw-client.ts'
import type { Scope } from './harness/scope.ts'
import { TestCa } from './harness/test-ca.ts'

const { it } = claims()
const WEBSOCKETS = 50
const EVENT_STREAMS = 20
const CHANGES = 30
const SWITCHING =
  'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'
const UPGRADE =
  'GET /socket HTTP/1.1\r\nHost: a.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'
const EVENTS =
  'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n'

function loadOn(scope: Scope, fleet: Fleet, host: string) {
  const plan = { connections: 4, work: 'small', path: '/load', expected: 'echo /load' } as const
  return startLoad(scope, { ...plan, port: fleet.node.port(), host, requestsPerSecondMax: 200 })
}

it('G01: each kind of bad update is refused as a whole with object and field, costs the running routers nothing, and needs no restart to be mended', async (scope) => {
  const echo = await startEchoOrigin(scope, 'echo')
  const fleet = await startFleet(scope)
  const routers = Array.from({ length: 99 }, (_, at) => router(`r${at}`, `r${at}.test`, 's'))
  const version = await fleet.publish(service('s', [echo]), ...routers)
  const load = loadOn(scope, fleet, 'r7.test')
  await load.untilMore(20)
  const ca = await TestCa.create()
  const [one, other] = [
    await ca.issue({ hosts: ['a.test'] }),
    await ca.issue({ hosts: ['b.test'] }),
  ]
  const wrongKey = { source: 'uploaded', ...one, privateKeyPem: other.privateKeyPem }
  const bad = {
    'match.pathRegexes[0]': router('bad', 'bad.test', 's', { match: { pathRegexes: ['('] } }),
    balancer: service('bad', [echo], { balancer: 'fastest-of-all' }),
    privateKeyPem: { kind: 'certificate', name: 'bad', ...wrongKey },
    service: router('bad', 'bad.test', 'missing'),
    colour: router('bad', 'bad.test', 's', { colour: 'blue' }),
  }
  for (const [field, document] of Object.entries(bad)) {
    const body = { resources: [router('good', 'good.test', 's'), document] }
    const answer = await fleet.api.call('POST', '/api/v1/apply', { body })
    expect(answer.status).toBeGreaterThanOrEqual(400)
    expect(answer.text).toContain('"name":"bad"')
    expect(answer.text).toContain(`"field":"${field}"`)
  }
  for (const bytes of ['', '{', '[]', '{"resources":[1]}', '{"resources":{}}']) {
    const answer = await fleet.api.call('POST', '/api/v1/apply', { bytes })
    expect(answer.status).toBe(400)
  }
  expect((await fleet.status()).version).toBe(version)
  await fleet.publish(router('good', 'good.test', 's'), router('bad', 'bad.test', 's'))
  expect(statusOf(await exchange(scope, fleet.node.port(), get('bad.test', '/')))).toBe(200)
  await load.untilMore(20)
  expect((await load.stop()).failures).toEqual([])
})

it('G04: a control plane that comes back with an empty store, or whose name no longer resolves, changes nothing on a node, which says why', async (scope) => {
  const echo = await startEchoOrigin(scope, 'echo')
  const fleet = await startFleet(scope)
  const { controlPlane, node } = fleet
  const version = await fleet.publish(service('s', [echo]), router('r', 'r.test', 's'))
  const load = loadOn(scope, fleet, 'r.test')
  await controlPlane.stop()
  await rename(controlPlane.dataDirectory, `${controlPlane.dataDirectory}-lost`)
  await controlPlane.startAgain()
  // Another store is another authority, so the node takes it for a stranger.
  await eventually(
    async () => /certificate|signature/.test(String((await node.status()).problems)),
    {
      withinMs: 15_000,
      that: 'the reason why the node does not connect',
    },
  )
  await load.untilMore(50)
  expect(await node.status()).toMatchObject({ version, controlPlane: 'disconnected' })

  await controlPlane.stop()
  await rename(controlPlane.dataDirectory, `${controlPlane.dataDirectory}-empty`)
  await rename(`${controlPlane.dataDirectory}-lost`, controlPlane.dataDirectory)
  await controlPlane.startAgain()
  await fleet.untilInSync(version, 20_000)
  await load.untilMore(20)
  expect((await load.stop()).failures).toEqual([])

  await node.stop()
  const { dataDirectory, ports } = node
  const lost = 'control-plane.invalid:9443'
  const nameless = await DataPlaneNode.start(scope, { controlPlane: lost, dataDirectory, ports })
  await nameless.untilReady()
  expect(await nameless.status()).toMatchObject({ version, source: 'disk' })
  expect(statusOf(await exchange(scope, nameless.port(), get('r.test', '/load')))).toBe(200)
  await eventually(async () => /resol|ENOTFOUND/.test(String((await nameless.status()).problems)), {
    withinMs: 15_000,
    that: 'the name that does not resolve as the reason',
  })
})

it('G07: of two routers with one match the first by name gets all requests, both writes are warned, and the other takes over without a gap', async (scope) => {
  const [first, second] = [await ScriptedOrigin.start(scope), await startEchoOrigin(scope, 'echo')]
  const fleet = await startFleet(scope, { nodes: 2 })
  const twin = await fleet.api.apply(
    service('one', [second]),
    service('two', [second]),
    router('b-twin', 'twin.test', 'two'),
    router('a-twin', 'twin.test', 'one'),
  )
  expect(twin.warnings).toHaveLength(2)
  await fleet.publish(service('marked', [first.port]), router('a-twin', 'twin.test', 'marked'))
  for (const node of fleet.nodes) {
    const { body } = await exchange(scope, node.port(), get('twin.test', '/load'))
    expect(body.toString()).toBe('/load')
  }
  await fleet.publish(router('a-twin', 'twin.test', 'one'))
  const load = loadOn(scope, fleet, 'twin.test')
  await load.untilMore(50)
  await fleet.api.delete('/api/v1/routers/a-twin')
  await fleet.untilInSync((await fleet.status()).version)
  await load.untilMore(50)
  expect((await load.stop()).failures).toEqual([])
})

/** Streams through router `a`, all open, and their connections at the origin. */
async function openStreams(scope: Scope, port: number, origin: ScriptedOrigin) {
  origin.answer = ({ target, connection: { socket } }) => {
    socket.write(target === '/socket' ? SWITCHING : EVENTS)
  }
  const requests = [
    ...Array.from({ length: WEBSOCKETS }, () => UPGRADE),
    ...Array.from({ length: EVENT_STREAMS }, () => get('a.test', '/events')),
  ]
  const clients: RawClient[] = []
  for (const request of requests) {
    const client = await RawClient.open(scope, port)
    await client.send(request).untilReceived('\r\n\r\n')
    clients.push(client)
  }
  return { clients, connections: origin.connections.slice(-requests.length) }
}

async function expectOpen(
  { clients, connections }: { clients: RawClient[]; connections: OriginConnection[] },
  word: string,
): Promise<void> {
  // A chunk for the event streams; a tunnel passes these bytes as they are.
  const chunk = `${word.length.toString(16)}\r\n${word}\r\n`
  for (const { socket } of connections) socket.write(chunk)
  await Promise.all(clients.map((client) => client.untilReceived(word)))
  expect(clients.filter(({ isEnded }) => isEnded)).toHaveLength(0)
}

it('G10: WebSockets and event streams outlive changes of other objects, of their own router and service, and its end', async (scope) => {
  const origin = await ScriptedOrigin.start(scope)
  const echo = await startEchoOrigin(scope, 'echo')
  const fleet = await startFleet(scope)
  await fleet.publish(service('a', [origin.port]), router('a', 'a.test', 'a'))
  const streams = await openStreams(scope, fleet.node.port(), origin)
  const ca = await TestCa.create()
  for (let change = 1; change <= CHANGES; change += 1) {
    await fleet.api.apply(
      service('other', [echo], { queueMax: change }),
      router(`other-${change % 5}`, `o${change}.test`, 'other'),
      {
        kind: 'certificate',
        name: 'c',
        source: 'uploaded',
        ...(await ca.issue({ hosts: ['c.test'] })),
      },
      entryPoint('web', { trustedPeers: [`10.0.0.${change}/32`] }),
    )
  }
  await fleet.untilInSync((await fleet.status()).version)
  await expectOpen(streams, 'after-others')
  await fleet.publish(router('a', 'a.test', 'other'), service('a', [echo]))
  await expectOpen(streams, 'after-itself')
  await fleet.api.delete('/api/v1/routers/a')
  await fleet.api.delete('/api/v1/services/a')
  await fleet.untilInSync((await fleet.status()).version)
  await expectOpen(streams, 'after-its-end')
  expect(statusOf(await exchange(scope, fleet.node.port(), get('a.test', '/')))).toBe(404)
  for (const client of streams.clients) client.reset()
  await eventually(() => streams.connections.every(({ isClosed }) => isClosed), {
    withinMs: 10_000,
    that: 'the end of every connection to the origin, with its client',
  })
})

it('G11: a host without certificate, or whose certificate went, is refused alone; it is warned of, and mended without a restart', async (scope) => {
  const echo = await startEchoOrigin(scope, 'echo')
  const controlPlane = await ControlPlane.start(scope)
  const ca = await TestCa.create()
  const upload = async (name: string, host: string) => {
    const issued = await ca.issue({ hosts: [host] })
    return { kind: 'certificate', name, source: 'uploaded', ...issued }
  }
  await controlPlane.api.apply(
    entryPoint('web'),
    entryPoint('websecure', { protocol: 'https', defaultCertificate: 'good' }),
    entryPoint('strict', { protocol: 'https' }),
    await upload('good', 'good.test'),
  )
  const names = ['web', 'websecure', 'strict']
  const node = await joinNode(scope, controlPlane, { name: 'n1' }, names)
  const fleet = new Fleet(controlPlane, [await node.untilReady()])
  const shown = async (servername: string, at: string) => {
    const tls = { servername, rejectUnauthorized: false }
    const client = await RawClient.open(scope, node.port(at), { tls })
    return String((client.socket as TLSSocket).getPeerCertificate().subject.CN)
  }
  const expectRefused = (name: string) =>
    expect(shown(name, 'strict')).rejects.toThrow(/unrecognized.name/i)
  const { warnings } = await fleet.api.apply(
    service('s', [echo]),
    router('good', 'good.test', 's'),
    router('new', 'new.test', 's'),
    await upload('wrong', 'elsewhere.test'),
  )
  expect(JSON.stringify(warnings)).toContain('\\"new.test\\" is served by no certificate')
  await fleet.untilInSync((await fleet.status()).version)
  await expectRefused('new.test')
  expect(await shown('new.test', 'websecure')).toBe('good.test')
  expect(await shown('good.test', 'strict')).toBe('good.test')
  expect(statusOf(await exchange(scope, node.port(), get('new.test', '/load')))).toBe(200)

  await fleet.publish(await upload('new', 'new.test'))
  expect(await shown('new.test', 'strict')).toBe('new.test')
  await fleet.api.delete('/api/v1/certificates/new')
  await fleet.untilInSync((await fleet.status()).version)
  await expectRefused('new.test')
  const inUse = await fleet.api.call('DELETE', '/api/v1/certificates/good')
  expect(inUse).toMatchObject({ status: 409 })
  expect(inUse.text).toContain('websecure')
  expect(await shown('good.test', 'strict')).toBe('good.test')
})

import { Outcome, ResourceKind } from '@sluice/proto'
import { describe, expect, it, vi } from 'vitest'
import {
  answerOk,
  type RawClient,
  type RawOrigin,
  type RawRequest,
  refusedPort,
} from '../../testing/raw-origin.ts'
import {
  type Address,
  encodeEntryPoint,
  encodeRouter,
  encodeService,
  type ServiceOptions,
} from '../../testing/resources.ts'
import { GET, Scene, statusOf } from '../../testing/scene.ts'
import type { RunningWorker } from '../../testing/worker.ts'

const scene = new Scene()

/** A server that answers when the test says so. */
async function slowOrigin(): Promise<{ server: RawOrigin; waiting: RawRequest[] }> {
  const waiting: RawRequest[] = []
  return { server: await scene.origin((one) => waiting.push(one)), waiting }
}

function path(name: string): string {
  return `GET /${name} HTTP/1.1\r\nHost: a.test\r\n\r\n`
}

const pathsOf = (requests: RawRequest[]) => requests.map(({ head }) => head.split(' ')[1])

async function send(port: number, ...names: string[]): Promise<RawClient[]> {
  const clients: RawClient[] = []
  for (const name of names) {
    const client = await scene.client(port)
    client.send(path(name))
    clients.push(client)
  }
  return clients
}

/** When it returns the worker has seen all that clients did before: this answer is given in its turn. */
async function settle(port: number): Promise<void> {
  await scene.ask(port, 'GET / HTTP/1.1\r\nHost: other.test\r\n\r\n')
}

async function lastGauges(started: RunningWorker) {
  return (await started.stop()).at(-1)?.gauges
}

function reconfigure(started: RunningWorker, servers: Address[], options: ServiceOptions): void {
  const resources = [
    encodeEntryPoint('web'),
    encodeRouter('r', 's', { hosts: ['a.test'] }),
    encodeService('s', servers, options),
  ]
  started.worker.configure({ kind: 'configure', version: 2n, hash: '', removed: [], resources })
}

describe('a service whose servers are at their cap', () => {
  it('lets exchanges wait in the order in which they came, on the connections that there are', async () => {
    const { server, waiting } = await slowOrigin()
    const { port } = scene.serve([server.port], { connectionsMax: 2 })
    const clients = await send(port, '1', '2', '3', '4', '5')
    await vi.waitFor(() => expect(waiting.length).toBe(2))
    for (let turn = 3; turn <= 5; turn += 1) {
      answerOk(waiting[turn - 3] as RawRequest)
      await vi.waitFor(() => expect(waiting.length).toBe(turn))
    }
    for (const one of waiting.slice(3)) answerOk(one)
    await vi.waitFor(() =>
      expect(clients.map((one) => one.received.slice(9, 12))).toEqual(Array(5).fill('200')),
    )
    expect(pathsOf(waiting)).toEqual(['/1', '/2', '/3', '/4', '/5'])
    expect(server.connectionCount).toBe(2)
  })

  it('uses a server that has room before it lets anyone wait', async () => {
    const { server, waiting } = await slowOrigin()
    const other = await slowOrigin()
    const started = scene.serve([server.port, other.server.port], { connectionsMax: 2 })
    await send(started.port, '1', '2', '3', '4')
    await vi.waitFor(() => expect([waiting.length, other.waiting.length]).toEqual([2, 2]))
    await send(started.port, '5', '6')
    await settle(started.port)
    answerOk(waiting[0] as RawRequest)
    answerOk(waiting[1] as RawRequest)
    await vi.waitFor(() => expect(pathsOf(waiting).slice(2)).toEqual(['/5', '/6']))
  })

  it('does not let requests sent ahead on one connection pass those of others', async () => {
    const { server, waiting } = await slowOrigin()
    const { port } = scene.serve([server.port], { connectionsMax: 1 })
    const [first] = await send(port, 'a1')
    await vi.waitFor(() => expect(waiting.length).toBe(1))
    first?.send(path('a2'))
    await send(port, 'b1')
    await settle(port)
    for (let turn = 1; turn <= 3; turn += 1) {
      await vi.waitFor(() => expect(waiting.length).toBe(turn))
      answerOk(waiting[turn - 1] as RawRequest)
    }
    expect(pathsOf(waiting)).toEqual(['/a1', '/b1', '/a2'])
  })

  it('answers what does not fit into the queue with 503 at once, and counts it', async () => {
    const { server, waiting } = await slowOrigin()
    const started = scene.serve([server.port], { connectionsMax: 1, queueMax: 2 })
    const clients = await send(started.port, '1', '2', '3')
    await vi.waitFor(() => expect(waiting.length).toBe(1))
    await settle(started.port)
    const answer = await scene.ask(started.port, path('4'))
    expect(answer).toMatch(/^HTTP\/1.1 503 Service Unavailable\r\n/)
    expect(answer).toContain('\r\nRetry-After: 1\r\n')
    for (let turn = 1; turn <= 3; turn += 1) {
      await vi.waitFor(() => expect(waiting.length).toBe(turn))
      answerOk(waiting[turn - 1] as RawRequest)
    }
    await vi.waitFor(() =>
      expect(clients.every((one) => one.received.includes('200 OK'))).toBe(true),
    )
    const reports = await started.stop()
    const lines = reports.flatMap(({ logs }) => [...logs.ordinary.lines, ...logs.notable.lines])
    expect(lines.filter(({ status }) => status === 503).map(({ outcome }) => outcome)).toEqual([
      Outcome.SHED,
    ])
    expect(reports.at(-1)?.gauges).toMatchObject({
      exchangesStarted: 5,
      exchangesEnded: 5,
      exchangesShed: 1,
      exchangesWaiting: 0,
    })
  })

  it('answers who waits too long with 503, and the connection goes to who still waits', async () => {
    const { server, waiting } = await slowOrigin()
    const started = scene.serve([server.port], { connectionsMax: 1, queueMs: 300 })
    await send(started.port, '1')
    await vi.waitFor(() => expect(waiting.length).toBe(1))
    const [late] = await send(started.port, 'late')
    await vi.waitFor(() => expect(statusOf(late?.received ?? '')).toBe(503), { timeout: 3_000 })
    await send(started.port, '2')
    await settle(started.port)
    answerOk(waiting[0] as RawRequest)
    await vi.waitFor(() => expect(pathsOf(waiting)).toEqual(['/1', '/2']))
    expect(await lastGauges(started)).toMatchObject({ exchangesShed: 1, exchangesWaiting: 0 })
  })

  it.each([
    ['without a body', path('gone')],
    ['with all of its body', 'POST /gone HTTP/1.1\r\nHost: a.test\r\nContent-Length: 2\r\n\r\nhi'],
    [
      'with a part of its body',
      'POST /gone HTTP/1.1\r\nHost: a.test\r\nContent-Length: 9\r\n\r\nhi',
    ],
  ])('never gives a server a request %s whose client has left the queue', async (_name, text) => {
    const { server, waiting } = await slowOrigin()
    const started = scene.serve([server.port], { connectionsMax: 1 })
    await send(started.port, '1')
    await vi.waitFor(() => expect(waiting.length).toBe(1))
    const leaver = await scene.client(started.port)
    leaver.send(text)
    await send(started.port, '2')
    await settle(started.port)
    leaver.socket.resetAndDestroy()
    await settle(started.port)
    answerOk(waiting[0] as RawRequest)
    await vi.waitFor(() => expect(pathsOf(waiting)).toEqual(['/1', '/2']))
    expect(await lastGauges(started)).toMatchObject({ exchangesWaiting: 0, exchangesShed: 0 })
  })

  it.each([
    ['has ended its side', (client: RawClient) => client.socket.end(), 503],
    ['has closed its connection', (client: RawClient) => client.close(), 0],
  ])('gives no server the request of a client that %s', async (_name, end, status) => {
    const { server, waiting } = await slowOrigin()
    const started = scene.serve([server.port], { connectionsMax: 1 })
    await send(started.port, '1')
    await vi.waitFor(() => expect(waiting.length).toBe(1))
    const [leaver] = await send(started.port, 'gone')
    await settle(started.port)
    if (leaver !== undefined) end(leaver)
    await settle(started.port)
    answerOk(waiting[0] as RawRequest)
    await send(started.port, '2')
    await vi.waitFor(() => expect(pathsOf(waiting)).toEqual(['/1', '/2']))
    await vi.waitFor(() => expect(statusOf(leaver?.received ?? '')).toBe(status))
  })

  it('dials anew for who waits when a connection ends without being kept', async () => {
    const { server, waiting } = await slowOrigin()
    const { port } = scene.serve([server.port], { connectionsMax: 1 })
    const clients = await send(port, '1', '2')
    await vi.waitFor(() => expect(waiting.length).toBe(1))
    waiting[0]?.socket.end('HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n')
    await vi.waitFor(() => expect(waiting.length).toBe(2))
    answerOk(waiting[1] as RawRequest)
    await vi.waitFor(() =>
      expect(clients.every((one) => one.received.includes('200 OK'))).toBe(true),
    )
    expect(server.connectionCount).toBe(2)
  })

  it('repeats a request on a fresh connection before it lets others dial', async () => {
    const { server, waiting } = await slowOrigin()
    const { port } = scene.serve([server.port], { connectionsMax: 1 })
    const [first] = await send(port, 'warm')
    await vi.waitFor(() => expect(waiting.length).toBe(1))
    answerOk(waiting[0] as RawRequest)
    await vi.waitFor(() => expect(first?.received).toContain('200 OK'))
    first?.send(path('1'))
    await vi.waitFor(() => expect(waiting.length).toBe(2))
    await send(port, '2')
    await settle(port)
    waiting[1]?.socket.resetAndDestroy()
    await vi.waitFor(() => expect(waiting.length).toBe(3))
    answerOk(waiting[2] as RawRequest)
    await vi.waitFor(() => expect(pathsOf(waiting)).toEqual(['/warm', '/1', '/1', '/2']))
  })

  it('gives everyone an answer when the server refuses connections', async () => {
    const { port } = scene.serve([await refusedPort()], { connectionsMax: 1 })
    const clients = await send(port, ...Array.from({ length: 20 }, (_, at) => String(at)))
    await vi.waitFor(() =>
      expect(clients.map((one) => statusOf(one.received))).toEqual(Array(20).fill(502)),
    )
  })

  it('lets those that wait dial when a version raises the cap, and sheds them when it goes', async () => {
    const { server, waiting } = await slowOrigin()
    const started = scene.serve([server.port], { connectionsMax: 1 })
    const clients = await send(started.port, '1', '2', '3')
    await vi.waitFor(() => expect(waiting.length).toBe(1))
    reconfigure(started, [server.port], { connectionsMax: 2 })
    await vi.waitFor(() => expect(pathsOf(waiting)).toEqual(['/1', '/2']))
    started.worker.configure({
      kind: 'configure',
      version: 3n,
      hash: '',
      removed: [
        { kind: ResourceKind.ROUTER, name: 'r' },
        { kind: ResourceKind.SERVICE, name: 's' },
      ],
      resources: [],
    })
    await vi.waitFor(() => expect(statusOf(clients[2]?.received ?? '')).toBe(503))
  })
})

describe('a lowered bound', () => {
  it.each([
    ['cap', { connectionsMax: 1 }, 1],
    ['number of idle connections', { idleConnectionsMax: 2 }, 2],
  ])('on the %s closes idle connections above it', async (_name, options, most) => {
    const { server, waiting } = await slowOrigin()
    const started = scene.serve([server.port], {})
    await send(started.port, '1', '2', '3', '4')
    await vi.waitFor(() => expect(waiting.length).toBe(4))
    for (const one of waiting) answerOk(one)
    await vi.waitFor(() => expect(server.openCount).toBe(4))
    reconfigure(started, [server.port], options)
    await vi.waitFor(() => expect(server.openCount).toBe(most))
  })
})

describe('a server that vanishes with a version', () => {
  it('leaves nothing behind, however many come and go', async () => {
    const server = await scene.origin(answerOk, '0.0.0.0')
    const started = scene.serve([server.port])
    for (let host = 1; host <= 60; host += 1) {
      reconfigure(started, [`http://127.0.1.${host}:${server.port}`], {})
      expect(statusOf(await scene.ask(started.port, GET))).toBe(200)
    }
    expect(server.connectionCount).toBe(60)
    await vi.waitFor(() => expect(server.openCount).toBe(1))
    expect(await lastGauges(started)).toMatchObject({
      upstreamConnectionsOpen: 1,
      upstreamConnectionsIdle: 1,
    })
  })

  it('loses its idle connections at once and the others with their exchange', async () => {
    const { server, waiting } = await slowOrigin()
    const other = await scene.origin()
    const started = scene.serve([server.port])
    const [first, second] = await send(started.port, '1', '2')
    await vi.waitFor(() => expect(waiting.length).toBe(2))
    answerOk(waiting[0] as RawRequest)
    await vi.waitFor(() => expect(`${first?.received}${second?.received}`).toContain('200 OK'))
    reconfigure(started, [other.port], {})
    await vi.waitFor(() => expect(server.openCount).toBe(1))
    expect(statusOf(await scene.ask(started.port, GET))).toBe(200)
    answerOk(waiting[1] as RawRequest)
    await vi.waitFor(() => expect(server.openCount).toBe(0))
    expect(second?.received).toContain('200 OK')
    expect(await lastGauges(started)).toMatchObject({ upstreamConnectionsIdle: 1 })
  })
})

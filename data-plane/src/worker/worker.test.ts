import { ResourceKind } from '@sluice/proto'
import { describe, expect, it, vi } from 'vitest'
import { unpackTraffic } from '../packed-traffic.ts'
import { answerOk, refusedPort } from '../testing/raw-origin.ts'
import { encodeEntryPoint, encodeRouter, encodeService } from '../testing/resources.ts'
import { GET, Scene } from '../testing/scene.ts'

const scene = new Scene()

describe('servers', () => {
  it('take turns', async () => {
    const all = await Promise.all([scene.origin(), scene.origin(), scene.origin()])
    const { port } = scene.serve(all.map((server) => server.port))
    for (let turn = 0; turn < 9; turn += 1) await scene.ask(port, GET)
    expect(all.map((server) => server.requests.length)).toEqual([3, 3, 3])
  })

  it('that refuse the connection are passed over, for any method and body', async () => {
    const server = await scene.origin()
    const { port } = scene.serve([await refusedPort(), server.port])
    const post = 'POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 2\r\n\r\nhi'
    for (let turn = 0; turn < 4; turn += 1) expect(await scene.ask(port, post)).toContain('okhi')
    expect(server.requests.length).toBe(4)
  })

  it('that all refuse the connection give 502', async () => {
    const { port } = scene.serve([await refusedPort(), await refusedPort()])
    const answer = await scene.ask(port, GET)
    expect(answer).toMatch(/^HTTP\/1.1 502 Bad Gateway\r\n/)
    expect(answer).toMatch(/\r\n\r\n502 Bad Gateway\n$/)
  })

  it('that close a kept connection on a GET get it once more on a fresh one, on a POST do not', async () => {
    const server = await scene.origin((request) => {
      if (request.turn === 1) answerOk(request)
      else request.socket.destroy()
    })
    const { port } = scene.serve([server.port])
    const sender = await scene.client(port)
    sender.send(GET)
    await vi.waitFor(() => expect(server.requests.length).toBe(1))
    sender.send(GET)
    await vi.waitFor(() => expect(sender.received.match(/200 OK/g)).toHaveLength(2))
    expect(server.requests.length).toBe(3)
    sender.send('POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 2\r\n\r\nhi')
    await vi.waitFor(() => expect(sender.received).toContain('502 Bad Gateway'))
    expect(server.requests.length).toBe(4)
  })

  it('keep their connections over a version that keeps them', async () => {
    const server = await scene.origin()
    const started = scene.serve([server.port])
    await scene.ask(started.port, GET)
    started.worker.configure({
      kind: 'configure',
      version: 2n,
      hash: '',
      removed: [{ kind: ResourceKind.ROUTER, name: 'r' }],
      resources: [
        encodeEntryPoint('web'),
        encodeRouter('renamed', 's', { hosts: ['a.test'] }),
        encodeService('s', [server.port]),
      ],
    })
    await scene.ask(started.port, GET)
    expect([server.requests.length, server.connectionCount]).toEqual([2, 1])
  })

  it('keep their connections over a change that names only what is new', async () => {
    const server = await scene.origin()
    const started = scene.serve([server.port])
    await scene.ask(started.port, GET)
    const added = encodeRouter('added', 's', { hosts: ['b.test'] })
    const version = { kind: 'configure', hash: '' } as const
    started.worker.configure({ ...version, version: 2n, removed: [], resources: [added] })
    const other = GET.replace('a.test', 'b.test')
    expect(await scene.ask(started.port, other)).toContain('200 OK')
    const refused = encodeRouter('refused', 'missing')
    started.worker.configure({
      ...version,
      version: 3n,
      removed: [{ kind: ResourceKind.ENTRY_POINT, name: 'web' }],
      resources: [refused],
    })
    expect(started.messages.at(-1)).toMatchObject({ kind: 'rejected', version: 3n })
    // Nothing of what was refused was done.
    expect(await scene.ask(started.port, other)).toContain('200 OK')
    const removed = [{ kind: ResourceKind.ROUTER, name: 'added' }]
    started.worker.configure({ ...version, version: 4n, removed, resources: [] })
    expect(await scene.ask(started.port, other)).toContain('404 Not Found')
    expect(await scene.ask(started.port, GET)).toContain('200 OK')
    expect([server.requests.length, server.connectionCount]).toEqual([4, 1])
  })
})

describe('a slow reader', () => {
  it('pauses its server and gets every byte in the end', async () => {
    const block = Buffer.alloc(65_536, 'x')
    const size = 64 * 1_024 * 1_024
    let sent = 0
    const server = await scene.origin(({ socket }) => {
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${size}\r\n\r\n`)
      const pump = () => {
        while (sent < size) {
          sent += block.length
          if (!socket.write(block)) {
            socket.once('drain', pump)
            return
          }
        }
      }
      pump()
    })
    const { port } = scene.serve([server.port])
    const reader = await scene.client(port)
    reader.socket.removeAllListeners('data')
    reader.socket.pause()
    reader.send(GET)
    let before = -1
    await vi.waitFor(
      () => {
        const isStill = sent > 0 && sent === before
        before = sent
        expect(isStill).toBe(true)
      },
      { interval: 200, timeout: 5_000 },
    )
    expect(sent).toBeLessThan(size / 2)
    let length = 0
    reader.socket.on('data', (bytes) => {
      length += bytes.length
    })
    reader.socket.resume()
    await vi.waitFor(() => expect(length).toBeGreaterThan(size), { timeout: 10_000 })
  })
})

describe('a client that leaves', () => {
  it('while its answer is awaited frees the server', async () => {
    const server = await scene.origin(() => {})
    const { port } = scene.serve([server.port])
    const leaver = await scene.client(port)
    leaver.send(GET)
    await vi.waitFor(() => expect(server.requests.length).toBe(1))
    leaver.socket.resetAndDestroy()
    await vi.waitFor(() => expect(server.openCount).toBe(0))
  })

  it('with a half-close still gets its answer', async () => {
    const server = await scene.origin()
    const { port } = scene.serve([server.port])
    expect(await scene.ask(port, GET)).toContain('200 OK')
  })
})

describe('counting', () => {
  it('has one record for every request, whatever became of it, and kept plus not kept lines', async () => {
    const server = await scene.origin()
    const started = scene.serve([server.port])
    for (let turn = 0; turn < 30; turn += 1) await scene.ask(started.port, GET)
    await scene.ask(started.port, 'GET / HTTP/1.1\r\nHost: b.test\r\n\r\n')
    await scene.ask(started.port, 'nonsense\r\n\r\n')
    const reports = await started.stop()
    const counts = reports
      .flatMap((report) => unpackTraffic(report.traffic))
      .map((row) => [row.router, row.requests.reduce((sum, count) => sum + count, 0)])
    const totals = new Map<string, number>()
    for (const [router, count] of counts) {
      totals.set(String(router), (totals.get(String(router)) ?? 0) + Number(count))
    }
    expect(Object.fromEntries(totals)).toEqual({ r: 30, '': 2 })
    const seen = reports.reduce((sum, { logs }) => sum + logs.ordinary.seen + logs.notable.seen, 0)
    expect(seen).toBe(32)
    const most = Math.max(...reports.map(({ logs }) => logs.ordinary.lines.length))
    expect(most).toBeLessThanOrEqual(10)
    const last = reports.at(-1)?.gauges
    expect(last).toMatchObject({ exchangesOpen: 0, exchangesStarted: 32, exchangesEnded: 32 })
    expect(last?.connectionsAccepted).toBe(
      (last?.connectionsClosed ?? 0) + (last?.connectionsOpen ?? 0),
    )
  })
})

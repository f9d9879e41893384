import { Outcome } from '@sluice/proto'
import { describe, expect, it, vi } from 'vitest'
import { unpackTraffic } from '../packed-traffic.ts'
import { answerOk, type RawOrigin, type Respond } from '../testing/raw-origin.ts'
import { GET, Scene, statusOf } from '../testing/scene.ts'

const scene = new Scene()

const UPGRADE =
  'GET /chat HTTP/1.1\r\nHost: a.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'
const SWITCHING =
  'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n'

/** Switches and sends back what it gets, until the client has ended. */
const echo: Respond = ({ socket }) => {
  socket.removeAllListeners('data')
  socket.write(SWITCHING)
  socket.on('data', (bytes) => socket.write(bytes))
}

async function open(respond: Respond = echo) {
  const server = await scene.origin(respond)
  const started = scene.serve([server.port])
  const client = await scene.client(started.port)
  return { server, started, client }
}

function forwarded(server: RawOrigin): string {
  return server.requests[0]?.head ?? ''
}

describe('an upgrade', () => {
  it('becomes a tunnel once the server agrees, and early bytes arrive once and in order', async () => {
    const { server, client } = await open(({ socket }) => {
      socket.removeAllListeners('data')
      socket.write(`${SWITCHING}first`)
      socket.on('data', (bytes) => socket.write(bytes))
    })
    client.send(`${UPGRADE}early`)
    await vi.waitFor(() => expect(client.received).toBe(`${SWITCHING}firstearly`))
    client.send('late')
    await vi.waitFor(() => expect(client.received).toBe(`${SWITCHING}firstearlylate`))
    expect(forwarded(server)).toContain('\r\nConnection: upgrade\r\nUpgrade: websocket\r\n')
  })

  it('that the server answers otherwise leaves what was sent ahead to the next request', async () => {
    const { server, client } = await open(answerOk)
    client.send(`${UPGRADE}${GET}`)
    await vi.waitFor(() => expect(client.received.match(/200 OK/g)).toHaveLength(2))
    expect(server.requests.map(({ head }) => head.split(' ')[1])).toEqual(['/chat', '/'])
  })

  it.each([
    ['to HTTP/2', 'Connection: upgrade\r\nUpgrade: h2c\r\n'],
    ['that Connection does not nominate', 'Upgrade: websocket\r\n'],
    ['with a body', 'Connection: upgrade\r\nUpgrade: websocket\r\nContent-Length: 1\r\n'],
  ])('%s is not passed on', async (_name, lines) => {
    const { server, client } = await open(answerOk)
    client.send(`GET / HTTP/1.1\r\nHost: a.test\r\n${lines}\r\nx`)
    await vi.waitFor(() => expect(statusOf(client.received)).toBe(200))
    expect(forwarded(server)).not.toMatch(/upgrade/i)
  })
})

describe('a tunnel', () => {
  it('passes a half-close on and ends when both sides have ended', async () => {
    const { server, client } = await open()
    client.send(UPGRADE)
    await vi.waitFor(() => expect(client.received).toBe(SWITCHING))
    client.socket.end('bye')
    await vi.waitFor(() => expect(client.hasEnded).toBe(true))
    expect(client.received).toBe(`${SWITCHING}bye`)
    await vi.waitFor(() => expect(server.openCount).toBe(0))
  })

  it('delivers every byte to a reader that is slow', async () => {
    const size = 32 * 1_024 * 1_024
    const { client } = await open(({ socket }) => {
      socket.write(SWITCHING)
      socket.end(Buffer.alloc(size, 'x'))
    })
    client.socket.removeAllListeners('data')
    client.socket.pause()
    client.send(UPGRADE)
    let length = 0
    client.socket.on('data', (bytes) => {
      length += bytes.length
    })
    client.socket.resume()
    await vi.waitFor(() => expect(length).toBe(SWITCHING.length + size), { timeout: 10_000 })
  })

  it.each([
    ['the client', Outcome.CLIENT_LEFT],
    ['the server', Outcome.UPSTREAM_FAILED],
  ])('that %s resets ends the other side too, with one record', async (who, outcome) => {
    const { server, started, client } = await open()
    client.send(UPGRADE)
    await vi.waitFor(() => expect(client.received).toBe(SWITCHING))
    if (who === 'the client') client.socket.resetAndDestroy()
    else server.requests[0]?.socket.resetAndDestroy()
    await vi.waitFor(() => expect([server.openCount, client.socket.destroyed]).toEqual([0, true]))
    const reports = await started.stop()
    const lines = reports.flatMap(({ logs }) => [...logs.ordinary.lines, ...logs.notable.lines])
    expect(lines.map((line) => [line.status, line.outcome])).toEqual([[101, outcome]])
  })

  it('outlives a drain until its grace is over, and then ends with FINs and one record', async () => {
    const { server, started, client } = await open()
    client.send(UPGRADE)
    await vi.waitFor(() => expect(client.received).toBe(SWITCHING))
    const drained = started.worker.drain(300)
    client.send('still here')
    await vi.waitFor(() => expect(client.received).toBe(`${SWITCHING}still here`))
    await vi.waitFor(() => expect(client.hasEnded).toBe(true))
    client.socket.end()
    await drained
    await vi.waitFor(() => expect(server.openCount).toBe(0))
    const reports = started.messages.filter((message) => message.kind === 'report')
    expect(reports.at(-1)?.gauges).toMatchObject({ connectionsOpen: 0, exchangesOpen: 0 })
  })
})

describe('a drain whose grace is over', () => {
  it('ends exchanges that still run, each with its record', async () => {
    const { started, client } = await open(() => {})
    client.send(GET)
    await vi.waitFor(() => expect(started.worker.gauges).toMatchObject({ exchangesOpen: 1 }))
    const reports = await started.stop()
    const counts = reports.flatMap(({ traffic }) =>
      unpackTraffic(traffic).map((row) => [...row.requests]),
    )
    expect(counts).toEqual([[0, 0, 0, 0, 0, 1]])
    expect(reports.at(-1)?.gauges).toMatchObject({ exchangesOpen: 0, connectionsOpen: 0 })
  })
})

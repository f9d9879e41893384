import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, it, vi } from 'vitest'
import { GET, Scene } from '../../testing/scene.ts'

const scene = new Scene()

const TABLE = '/proc/net/tcp'
const HAS_TABLE = existsSync(TABLE)
const KEEP_ALIVE_TIMER = '02'

/** The timers of the sockets to or from a port, as the kernel lists them. */
function timersOf(port: number): string[] {
  const hex = port.toString(16).toUpperCase().padStart(4, '0')
  const rows = readFileSync(TABLE, 'latin1').split('\n').slice(1)
  const isEstablished = (row: string[]) => row[3] === '01'
  return rows
    .map((row) => row.trim().split(/\s+/))
    .filter((row) => isEstablished(row) && row[1]?.endsWith(`:${hex}`) === true)
    .map((row) => row[5]?.slice(0, 2) ?? '')
}

describe('a kept connection that is older than its maximum age', () => {
  it('is closed while it is idle', async () => {
    const server = await scene.origin()
    const { port } = scene.serve([server.port], { connectionAgeMaxMs: 100 })
    await scene.ask(port, GET)
    expect(server.connectionCount).toBe(1)
    await vi.waitFor(() => expect(server.openCount).toBe(0), { timeout: 3_000 })
  })

  it('gets no further request under constant use', async () => {
    const server = await scene.origin()
    const { port } = scene.serve([server.port], { connectionAgeMaxMs: 100 })
    const sender = await scene.client(port)
    let sent = 0
    await vi.waitFor(
      async () => {
        sent += 1
        sender.send(GET)
        await vi.waitFor(() => expect(sender.received.match(/200 OK/g)?.length).toBe(sent))
        expect(server.connectionCount).toBeGreaterThanOrEqual(3)
      },
      { interval: 5, timeout: 5_000 },
    )
    expect(sent).toBeGreaterThan(server.connectionCount)
  })

  it('of 0 may have any', async () => {
    const server = await scene.origin()
    const { port } = scene.serve([server.port], { connectionAgeMaxMs: 0 })
    for (let turn = 0; turn < 3; turn += 1) await scene.ask(port, GET)
    expect(server.connectionCount).toBe(1)
  })
})

// Where the kernel lists no timers, nothing tells whether the option is set.
describe.runIf(HAS_TABLE)('TCP keepalive', () => {
  it('watches connections of clients and to servers', async () => {
    const server = await scene.origin()
    const { port } = scene.serve([server.port])
    const sender = await scene.client(port)
    sender.send(GET)
    await vi.waitFor(() => expect(sender.received).toContain('200 OK'))
    const upstreamPort = server.requests[0]?.socket.remotePort ?? 0
    await vi.waitFor(() => expect(timersOf(port)).toEqual([KEEP_ALIVE_TIMER]))
    await vi.waitFor(() => expect(timersOf(upstreamPort)).toEqual([KEEP_ALIVE_TIMER]))
  })
})

import { describe, expect, it, vi } from 'vitest'
import { answerOk } from '../../testing/raw-origin.ts'
import { GET, Scene, statusOf } from '../../testing/scene.ts'

const scene = new Scene()

const CONNECT_MS = 400
/** Long before anything else would end the wait, also on a busy machine. */
const SOON_MS = 4_000

async function timed(port: number, text: string): Promise<{ status: number; ms: number }> {
  const startedAt = performance.now()
  const client = await scene.client(port)
  client.send(text)
  await vi.waitFor(() => expect(client.received).not.toBe(''), { timeout: 5_000, interval: 5 })
  const status = statusOf(client.received)
  return { status, ms: performance.now() - startedAt }
}

describe('a server that does not answer the connect', () => {
  it('gives 504 at connectMs, long before the answer would be due', async () => {
    const hole = await scene.blackHole('127.0.0.1')
    const { port } = scene.serve([hole.port], { connectMs: CONNECT_MS, firstByteMs: 60_000 })
    const { status, ms } = await timed(port, GET)
    expect(status).toBe(504)
    expect(ms).toBeGreaterThanOrEqual(CONNECT_MS - 1)
    expect(ms).toBeLessThan(SOON_MS)
  })

  it('is passed over for another one, with any method', async () => {
    const hole = await scene.blackHole('127.0.0.1')
    const server = await scene.origin()
    const { port } = scene.serve([hole.port, server.port], {
      connectMs: CONNECT_MS,
      firstByteMs: 60_000,
    })
    const post = 'POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 2\r\n\r\nhi'
    for (const text of [GET, GET, post, post]) {
      const { status, ms } = await timed(port, text)
      expect(status).toBe(200)
      expect(ms).toBeLessThan(SOON_MS)
    }
    expect(server.requests.length).toBe(4)
  })

  it('holds a place of its cap no longer than connectMs', async () => {
    const hole = await scene.blackHole('127.0.0.1')
    const { port } = scene.serve([hole.port], { connectMs: CONNECT_MS, connectionsMax: 1 })
    const both = await Promise.all([timed(port, GET), timed(port, GET)])
    expect(both.map(({ status }) => status)).toEqual([504, 504])
  })
})

it('a literal IPv6 address is dialled, and named in brackets', async () => {
  const server = await scene.origin(answerOk, '::1')
  const { port } = scene.serve([`http://[::1]:${server.port}`], { passHost: false })
  expect(statusOf(await scene.ask(port, GET))).toBe(200)
  expect(server.requests[0]?.head).toContain(`\r\nHost: [::1]:${server.port}\r\n`)
})

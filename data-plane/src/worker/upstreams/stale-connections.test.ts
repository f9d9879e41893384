import { describe, expect, it, vi } from 'vitest'
import { answerOk, type RawClient, type RawOrigin, refusedPort } from '../../testing/raw-origin.ts'
import { GET, Scene, statusOf } from '../../testing/scene.ts'

const scene = new Scene()

const POOL = 20

function request(method: string, body: string): string {
  return `${method} / HTTP/1.1\r\nHost: a.test\r\nContent-Length: ${body.length}\r\n\r\n${body}`
}

const POST = request('POST', 'hi')

/** Clients whose requests were answered at the same time, so that each has left an idle connection. */
async function warmPool(port: number, server: RawOrigin): Promise<RawClient[]> {
  const waiting: (() => void)[] = []
  server.respond = (one) => {
    waiting.push(() => answerOk(one))
    if (waiting.length === POOL) for (const answer of waiting) answer()
  }
  const clients = await Promise.all(Array.from({ length: POOL }, () => scene.client(port)))
  for (const one of clients) one.send(GET)
  await vi.waitFor(() => expect(clients.every((one) => one.received.includes('200 OK'))).toBe(true))
  for (const one of clients) one.received = ''
  server.respond = answerOk
  return clients
}

async function statusesOf(clients: RawClient[], text: string): Promise<number[]> {
  for (const one of clients) one.send(text)
  await vi.waitFor(() => expect(clients.every((one) => one.received !== '')).toBe(true))
  return clients.map((one) => statusOf(one.received))
}

describe('a pool of idle connections that the server closes at once', () => {
  it.each([
    ['GET', GET],
    ['POST', POST],
  ])('fails no %s', async (_method, text) => {
    const server = await scene.origin()
    const { port } = scene.serve([server.port])
    const clients = await warmPool(port, server)
    server.closeConnections()
    await vi.waitFor(() => expect(server.openCount).toBe(0))
    expect(await statusesOf(clients, text)).toEqual(Array(POOL).fill(200))
  })

  it('on the next byte of each fails no GET, and each is sent at most twice', async () => {
    const server = await scene.origin()
    const { port } = scene.serve([server.port])
    const clients = await warmPool(port, server)
    const before = server.requests.length
    server.respond = (one) => {
      if (one.turn > 1) one.socket.resetAndDestroy()
      else answerOk(one)
    }
    expect(await statusesOf(clients, GET)).toEqual(Array(POOL).fill(200))
    expect(server.requests.length - before).toBeLessThanOrEqual(2 * POOL)
  })
})

describe('a kept connection', () => {
  it('on which the server says something unasked is not used again', async () => {
    const server = await scene.origin()
    const { port } = scene.serve([server.port])
    const sender = await scene.client(port)
    sender.send(GET)
    await vi.waitFor(() => expect(sender.received).toContain('200 OK'))
    server.requests[0]?.socket.write('HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison')
    await vi.waitFor(() => expect(server.openCount).toBe(0))
    sender.send(GET)
    await vi.waitFor(() => expect(server.requests.length).toBe(2))
    expect(sender.received).not.toContain('poison')
    expect(server.connectionCount).toBe(2)
  })

  it.each([
    ['PUT', 'x'.repeat(40_000), 200, 2],
    ['PUT', 'x'.repeat(70_000), 502, 1],
    ['DELETE', 'hi', 200, 2],
    ['POST', 'hi', 502, 1],
    ['POST', '', 502, 1],
    ['PATCH', 'hi', 502, 1],
  ])(
    'that dies under a %s gets it again only where nothing can happen twice',
    async (method, body, status, times) => {
      const server = await scene.origin((one) => {
        if (one.turn > 1) one.socket.resetAndDestroy()
        else answerOk(one)
      })
      const { port } = scene.serve([server.port])
      const sender = await scene.client(port)
      sender.send(GET)
      await vi.waitFor(() => expect(sender.received).toContain('200 OK'))
      sender.received = ''
      sender.send(request(method, body))
      await vi.waitFor(() => expect(statusOf(sender.received)).toBe(status))
      const seen = server.requests.filter((one) => one.head.startsWith(method))
      expect(seen.map((one) => one.body === body)).toEqual(Array(times).fill(true))
    },
  )

  it('and the fresh one after it that die both give 502', async () => {
    const server = await scene.origin((one) => {
      if (one.turn === 1 && server.requests.length === 1) answerOk(one)
      else one.socket.resetAndDestroy()
    })
    const { port } = scene.serve([server.port])
    const sender = await scene.client(port)
    sender.send(GET)
    await vi.waitFor(() => expect(sender.received).toContain('200 OK'))
    sender.received = ''
    sender.send(GET)
    await vi.waitFor(() => expect(statusOf(sender.received)).toBe(502))
    expect(server.requests.length).toBe(3)
  })
})

describe('three servers, of which one refuses and one accepts and resets,', () => {
  it.each([
    ['PUT', 'hi', [200, 200, 200]],
    ['POST', 'hi', [200, 502, 502]],
  ])(
    'give a %s with %j in the end to the one that answers, where that is safe',
    async (method, body, expected) => {
      const resetting = await scene.origin((one) => one.socket.resetAndDestroy())
      const server = await scene.origin()
      const { port } = scene.serve([await refusedPort(), resetting.port, server.port])
      const statuses: number[] = []
      for (let turn = 0; turn < 3; turn += 1) {
        statuses.push(statusOf(await scene.ask(port, request(method, body))))
      }
      expect(statuses.sort()).toEqual(expected)
      expect(server.requests.map((one) => one.body)).toEqual(
        Array(expected.filter((status) => status === 200).length).fill(body),
      )
    },
  )

  it('get the whole of a long body that began before there was a connection', async () => {
    const server = await scene.origin()
    const { port } = scene.serve([await refusedPort(), server.port])
    const body = 'x'.repeat(200_000)
    for (let turn = 0; turn < 2; turn += 1) {
      expect(await scene.ask(port, request('POST', body))).toContain(`ok${body}`)
    }
  })
})

import { describe, expect, it, vi } from 'vitest'
import { answerOk } from '../testing/raw-origin.ts'
import { GET, Scene, statusOf } from '../testing/scene.ts'

const scene = new Scene()

describe('a request', () => {
  it('arrives with our own framing and forwarding fields and without hop-by-hop fields', async () => {
    const server = await scene.origin()
    const { port } = scene.serve([server.port])
    await scene.ask(
      port,
      'POST /x?y HTTP/1.1\r\nX-Forwarded-For: 6.6.6.6\r\nHost: a.test\r\nConnection: x-mine, close\r\n' +
        'X-Mine: 1\r\nTE: trailers\r\nKeep-Alive: 5\r\nForwarded: for=6.6.6.6\r\nAccept: */*\r\n' +
        'Upgrade: h2c\r\nContent-Length: 002\r\nX-Odd-CASE:  v \r\n\r\nhi',
    )
    expect(server.requests.map(({ head, body }) => head + body)).toEqual([
      'POST /x?y HTTP/1.1\r\nHost: a.test\r\nAccept: */*\r\nX-Odd-CASE:  v \r\nContent-Length: 2\r\n' +
        'Connection: TE\r\nTE: trailers\r\n' +
        'X-Forwarded-For: 127.0.0.1\r\nX-Forwarded-Proto: http\r\nX-Forwarded-Host: a.test\r\n\r\nhi',
    ])
  })

  it('sent byte by byte gives the same as in one piece', async () => {
    const server = await scene.origin()
    const { port } = scene.serve([server.port])
    const text = 'POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 5\r\n\r\nhello'
    const slow = await scene.client(port)
    slow.socket.setNoDelay(true)
    for (const byte of text) {
      await new Promise((resolve) => slow.socket.write(byte, resolve))
    }
    await vi.waitFor(() => expect(slow.received).toContain('okhello'))
    const fast = await scene.client(port)
    fast.send(text)
    await vi.waitFor(() => expect(fast.received).toBe(slow.received))
    expect(server.requests.map(({ head }) => head)).toEqual(Array(2).fill(server.requests[0]?.head))
  })

  it('in chunks is forwarded in chunks of our own making, with the trailers that may go on', async () => {
    const server = await scene.origin(({ socket }) => {
      socket.once('data', () => answerOk({ socket, head: '', body: '', turn: 1 }))
    })
    const bodies: Buffer[] = []
    const { port } = scene.serve([server.port])
    const sender = await scene.client(port)
    sender.send('POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n')
    await vi.waitFor(() => expect(server.requests.length).toBe(1))
    server.requests[0]?.socket.on('data', (bytes) => bodies.push(Buffer.from(bytes)))
    sender.send('000000a;ext=1\r\n0123456789\r\n0\r\nX-Trailer: 1\r\nContent-Length: 3\r\n\r\n')
    await vi.waitFor(() =>
      expect(Buffer.concat(bodies).toString()).toBe('a\r\n0123456789\r\n0\r\nX-Trailer: 1\r\n\r\n'),
    )
  })

  it.each([
    ['without a Host', 'GET / HTTP/1.1\r\n\r\n', 400],
    ['with a target that is no path', 'GET admin HTTP/1.1\r\nHost: a.test\r\n\r\n', 400],
    ['with CONNECT', 'CONNECT a.test:80 HTTP/1.1\r\nHost: a.test\r\n\r\n', 501],
    [
      'for a host that no router has',
      'GET / HTTP/1.1\r\nHost: b.test\r\nConnection: close\r\n\r\n',
      404,
    ],
    ['that climbs above the root', 'GET /../x HTTP/1.1\r\nHost: a.test\r\n\r\n', 400],
  ])('%s is answered here and reaches no server', async (_name, text, status) => {
    const server = await scene.origin()
    const { port } = scene.serve([server.port])
    expect(statusOf(await scene.ask(port, text))).toBe(status)
    expect(server.connectionCount).toBe(0)
  })

  it('with HEAD that is refused gets no body', async () => {
    const { port } = scene.serve([(await scene.origin()).port])
    const answer = await scene.ask(port, 'HEAD /../x HTTP/1.1\r\nHost: a.test\r\n\r\n')
    expect(answer).toMatch(/^HTTP\/1\.1 400 .*Content-Length: 16\r\n.*\r\n\r\n$/s)
  })

  it('with an absolute target goes to the host of the target', async () => {
    const server = await scene.origin()
    const { port } = scene.serve([server.port])
    await scene.ask(port, 'GET http://A.test/x HTTP/1.1\r\nHost: evil.test\r\n\r\n')
    expect(server.requests[0]?.head).toMatch(/^GET \/x HTTP\/1.1\r\nHost: A.test\r\n/)
  })

  it('that turns out malformed in its body is refused, and its server connection is not used again', async () => {
    const server = await scene.origin(() => {})
    const { port } = scene.serve([server.port])
    const sender = await scene.client(port)
    sender.send('POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel')
    await vi.waitFor(() => expect(server.requests.length).toBe(1))
    sender.send('lo\nX')
    await vi.waitFor(() => expect(statusOf(sender.received)).toBe(400))
    await vi.waitFor(() => expect(server.openCount).toBe(0))
  })
})

describe('requests on one connection', () => {
  it('sent ahead are answered in order and use the connection to the server again', async () => {
    const server = await scene.origin()
    const { port } = scene.serve([server.port])
    const sender = await scene.client(port)
    const bodies = ['1', '22', '333']
    sender.send(
      bodies
        .map(
          (body) =>
            `POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
        )
        .join(''),
    )
    await vi.waitFor(() =>
      expect(sender.received).toBe(
        bodies
          .map((body) => `HTTP/1.1 200 OK\r\nContent-Length: ${body.length + 2}\r\n\r\nok${body}`)
          .join(''),
      ),
    )
    expect(server.connectionCount).toBe(1)
  })

  it('goes on after an answer of our own to a request with a short body', async () => {
    const server = await scene.origin()
    const { port } = scene.serve([server.port])
    const body = 'GET /smuggled HTTP/1.1\r\nHost: a.test\r\n\r\n'
    const answer = await scene.ask(
      port,
      `GET / HTTP/1.1\r\nHost: b.test\r\nContent-Length: ${body.length}\r\n\r\n${body}${GET}`,
    )
    expect(answer.match(/HTTP\/1.1 \d+/g)).toEqual(['HTTP/1.1 404', 'HTTP/1.1 200'])
    expect(server.requests.map(({ head }) => head.split(' ')[1])).toEqual(['/'])
  })

  it('a body and one byte of the next request leave that byte to the next request', async () => {
    const server = await scene.origin()
    const { port } = scene.serve([server.port])
    const sender = await scene.client(port)
    sender.send(`POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 2\r\n\r\nhiG`)
    await vi.waitFor(() => expect(sender.received).toContain('okhi'))
    sender.send(GET.slice(1))
    await vi.waitFor(() => expect(server.requests.length).toBe(2))
  })
})

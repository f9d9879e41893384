import { describe, expect, it, vi } from 'vitest'
import type { Respond } from '../testing/raw-origin.ts'
import { GET, Scene, statusOf } from '../testing/scene.ts'

const scene = new Scene()

describe('an answer', () => {
  it.each([
    [
      'HEAD',
      'HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n',
      'HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n',
    ],
    ['HEAD', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n', 'HTTP/1.1 200 OK\r\n\r\n'],
    [
      'GET',
      'HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n',
      'HTTP/1.1 204 No Content\r\n\r\n',
    ],
    [
      'GET',
      'HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n',
      'HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n',
    ],
    [
      'GET',
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;x\r\nhi\r\n0\r\n\r\n',
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n',
    ],
    [
      'GET',
      'HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi',
      'HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi',
    ],
  ])('to %s %j is passed on as %j', async (method, answer, expected) => {
    const server = await scene.origin(({ socket }) => socket.write(answer))
    const { port } = scene.serve([server.port])
    const sender = await scene.client(port)
    sender.send(`${method} / HTTP/1.1\r\nHost: a.test\r\n\r\n`)
    await vi.waitFor(() => expect(sender.received).toBe(expected))
    sender.send(`${method} / HTTP/1.1\r\nHost: a.test\r\n\r\n`)
    await vi.waitFor(() => expect(sender.received).toBe(expected + expected))
  })

  it('that ends with its connection becomes chunks, so that the client keeps its own', async () => {
    const server = await scene.origin(({ socket }) => socket.end('HTTP/1.1 200 OK\r\n\r\nhi'))
    const { port } = scene.serve([server.port])
    const sender = await scene.client(port)
    sender.send(GET)
    await vi.waitFor(() =>
      expect(sender.received).toBe(
        'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n',
      ),
    )
  })

  it('with trailers has them for clients that ask for them, and for no others', async () => {
    const server = await scene.origin(({ socket }) =>
      socket.write(
        'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nX-Sum: 1\r\nSet-Cookie: a=1\r\n\r\n',
      ),
    )
    const { port } = scene.serve([server.port])
    const asking = await scene.ask(port, 'GET / HTTP/1.1\r\nHost: a.test\r\nTE: trailers\r\n\r\n')
    expect(asking).toMatch(/\r\n0\r\nX-Sum: 1\r\n\r\n$/)
    expect(await scene.ask(port, GET)).toMatch(/\r\n0\r\n\r\n$/)
  })

  it('with white space before a colon is passed on without it, and its framing counts', async () => {
    const server = await scene.origin(({ socket }) =>
      socket.write('HTTP/1.1 200 OK\r\nX-A : 1\r\nContent-Length\t: 2\r\nX-B:2\r\n\r\nhi'),
    )
    const { port } = scene.serve([server.port])
    const sender = await scene.client(port)
    sender.send(GET)
    await vi.waitFor(() =>
      expect(sender.received).toBe(
        'HTTP/1.1 200 OK\r\nX-A: 1\r\nX-B: 2\r\nContent-Length: 2\r\n\r\nhi',
      ),
    )
  })

  it('in chunks is unpacked for an HTTP/1.0 client', async () => {
    const server = await scene.origin(({ socket }) =>
      socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n'),
    )
    const { port } = scene.serve([server.port])
    expect(await scene.ask(port, 'GET / HTTP/1.0\r\nHost: a.test\r\n\r\n')).toBe(
      'HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhi',
    )
  })

  it.each([
    ['a length', 'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhi', 'hi'],
    ['chunks', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n', '2\r\nhi\r\n'],
  ])('with %s that breaks off ends visibly short', async (_name, answer, body) => {
    const server = await scene.origin(({ socket }) => socket.end(answer))
    const { port } = scene.serve([server.port])
    const sender = await scene.client(port)
    sender.send(GET)
    await vi.waitFor(() => expect(sender.hasEnded).toBe(true))
    expect(sender.received.split('\r\n\r\n').slice(1).join('\r\n\r\n')).toBe(body)
  })

  it('with bytes after its end is cut there, and its connection is not used again', async () => {
    const server = await scene.origin(({ socket }) =>
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhiHTTP/1.1 200 OK\r\n\r\nevil'),
    )
    const { port } = scene.serve([server.port])
    const sender = await scene.client(port)
    sender.send(GET)
    await vi.waitFor(() => expect(sender.received).toMatch(/hi$/))
    await vi.waitFor(() => expect(server.openCount).toBe(0))
  })

  it.each([
    ['is malformed', ({ socket }) => socket.write('nonsense\r\n\r\n'), 502],
    ['is a switch of protocols', ({ socket }) => socket.write('HTTP/1.1 101 X\r\n\r\n'), 502],
    ['never comes', ({ socket }) => socket.end(), 502],
    ['takes too long', () => {}, 504],
  ] satisfies [string, Respond, number][])(
    'that %s is answered here',
    async (_name, respond, status) => {
      const server = await scene.origin(respond)
      const { port } = scene.serve([server.port], { firstByteMs: 100 })
      const sender = await scene.client(port)
      sender.send(GET)
      await vi.waitFor(() => expect(statusOf(sender.received)).toBe(status), { timeout: 3_000 })
    },
  )

  it.each([
    ['413 Content Too Large', 'Connection: close\r\n'],
    ['200 OK', ''],
  ])(
    '%s before the request is whole reaches the client, and the connection ends',
    async (status, line) => {
      const server = await scene.origin(({ socket }) =>
        socket.write(`HTTP/1.1 ${status}\r\nContent-Length: 2\r\n\r\nok`),
      )
      const { port } = scene.serve([server.port])
      const sender = await scene.client(port)
      sender.send('POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n')
      await vi.waitFor(() => expect(sender.hasEnded).toBe(true))
      expect(sender.received).toBe(`HTTP/1.1 ${status}\r\nContent-Length: 2\r\n${line}\r\nok`)
      await vi.waitFor(() => expect(server.openCount).toBe(0))
    },
  )

  it('that begins while the request is sent and ends after it keeps the connection', async () => {
    const server = await scene.origin(({ socket }) => {
      socket.removeAllListeners('data')
      socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n')
      socket.once('data', () => {
        socket.write('2\r\nhi\r\n0\r\n\r\n')
        socket.once('data', () => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'))
      })
    })
    const { port } = scene.serve([server.port])
    const sender = await scene.client(port)
    sender.send('POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n')
    await vi.waitFor(() => expect(statusOf(sender.received)).toBe(200))
    sender.send('0\r\n\r\n')
    await vi.waitFor(() => expect(sender.received).toMatch(/0\r\n\r\n$/))
    expect(sender.received).not.toContain('close')
    sender.send(GET)
    await vi.waitFor(() => expect(sender.received.match(/200 OK/g)).toHaveLength(2))
  })
})

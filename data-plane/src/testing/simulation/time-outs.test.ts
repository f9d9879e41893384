import { describe, expect, it } from 'vitest'
import { limits } from '../../limits.ts'
import { Stage, WILLING } from './stage.ts'

const UPLOAD = 'POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 10\r\n\r\n'
const OLD_GET = 'GET / HTTP/1.0\r\nHost: a.test\r\n\r\n'

describe('the time-out of a server', () => {
  it('does not run during a slow upload that it has said 100 to', () => {
    const stage = new Stage(1, WILLING, { idleMs: 2_000 })
    const client = stage.openClient()
    client.send(UPLOAD)
    stage.pass(2_000)
    stage.servers[0]?.send('HTTP/1.1 100 Continue\r\n\r\n')
    stage.pass(30_000)
    client.send('0123456789')
    stage.pass(500)
    stage.servers[0]?.send('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
    stage.pass(500)
    expect(client.received).toBe(
      'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok',
    )
  })

  it('runs when the server was behind and stops in the middle of a head', () => {
    const stage = new Stage(1, WILLING, { idleMs: 2_000 })
    const client = stage.openClient()
    client.send(UPLOAD)
    stage.pass(2_000)
    stage.servers[0]?.send('HTTP/1.1 200 OK\r\n')
    stage.servers[0]?.transport.peerReads(false)
    client.send('0123456789')
    stage.pass(500)
    stage.servers[0]?.transport.peerReads(true)
    stage.pass(5_000)
    expect(client.received).toMatch(/^HTTP\/1\.1 504 /)
  })
})

describe('a worker that drains', () => {
  it('ends an idle connection as soon as its client has taken the last answer', () => {
    const stage = new Stage()
    const client = stage.openClient({ ...WILLING, behindChance: 1 })
    client.send('GET / HTTP/1.1\r\nHost: a.test\r\n\r\n')
    client.transport.peerReads(false)
    stage.pass(2_000)
    stage.servers[0]?.send('HTTP/1.1 204 No Content\r\n\r\n')
    stage.pass(100)
    stage.worker.drain()
    client.transport.peerReads(true)
    stage.pass(100)
    expect([client.received.slice(0, 12), client.ending]).toEqual(['HTTP/1.1 204', 'fin'])
  })

  it('ends a connection as soon as a body is read away that nobody wanted', () => {
    const stage = new Stage()
    const client = stage.openClient()
    client.send('POST / HTTP/1.1\r\nHost: none.test\r\nContent-Length: 4\r\n\r\n')
    stage.pass(100)
    stage.worker.drain()
    client.send('body')
    stage.pass(100)
    expect([client.received.slice(0, 12), client.ending]).toEqual(['HTTP/1.1 404', 'fin'])
  })
})

describe('a client that stops to read', () => {
  it('sees a reset where the end of its answer would look like the end of the body', () => {
    const stage = new Stage()
    const client = stage.openClient()
    client.send(OLD_GET)
    stage.pass(2_000)
    stage.servers[0]?.send('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n')
    stage.pass(100)
    client.transport.peerReads(false)
    stage.servers[0]?.send('3\r\ndef\r\n')
    stage.pass(limits.bodyIdleTimeoutMs + 1_000)
    expect([client.received.slice(-3), client.ending]).toEqual(['abc', 'reset'])
  })

  it('gets what its transport still holds when it reads again after the last answer', () => {
    const holding = { ...WILLING, behindChance: 1, copiesUpTo: limits.tlsPendingBytesMax }
    const stage = new Stage()
    const client = stage.openClient(holding)
    client.send('GET / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n')
    client.transport.peerReads(false)
    stage.pass(2_000)
    const body = 'x'.repeat(50_000)
    stage.servers[0]?.send(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
    stage.pass(20_000)
    client.transport.peerReads(true)
    stage.pass(1_000)
    expect(client.received.slice(-body.length)).toBe(body)
  })
})

describe('both sides of an upload that is answered early', () => {
  const LONG_UPLOAD = 'POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 2000\r\n\r\n'

  /** Neither side takes what the other one sends. */
  function blocked(idleMs: number) {
    const stage = new Stage(1, WILLING, { idleMs })
    const client = stage.openClient()
    client.send(LONG_UPLOAD)
    stage.pass(2_000)
    const [server] = stage.servers
    if (server === undefined) throw new Error('no server was dialled')
    server.send('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc')
    stage.pass(100)
    client.transport.peerReads(false)
    server.transport.peerReads(false)
    server.send('def')
    stage.pass(100)
    client.send('x'.repeat(1_000))
    stage.pass(100)
    return { stage, client, server }
  }

  it('are given up when neither takes what the other sends', () => {
    const { stage, client, server } = blocked(5_000)
    stage.pass(limits.bodyIdleTimeoutMs + 1_000)
    expect([client.ending, server.ending]).toEqual(['closed', 'closed'])
  })

  it('go on when the client reads again and the server takes its time', () => {
    const { stage, client, server } = blocked(limits.bodyIdleTimeoutMs + 40_000)
    client.transport.peerReads(true)
    stage.pass(limits.bodyIdleTimeoutMs + 10_000)
    expect([client.ending, server.ending]).toEqual(['open', 'open'])
    server.transport.peerReads(true)
    client.send('x'.repeat(1_000))
    stage.pass(1_000)
    server.send('ghi')
    stage.pass(1_000)
    expect([client.received.slice(-9), server.received.slice(-2_000)]).toEqual([
      'abcdefghi',
      'x'.repeat(2_000),
    ])
  })
})

import { describe, expect, it } from 'vitest'
import { limits } from '../../limits.ts'
import { Stage, type StagePeer, WILLING } from './stage.ts'

const UPLOAD = 'POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 10\r\n\r\n'
const EXPECTANT = UPLOAD.replace('\r\n\r\n', '\r\nExpect: 100-continue\r\n\r\n')
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
    const stage = new Stage(1, WILLING, { firstByteMs: 2_000 })
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

  it('for the final head is neither shortened nor put off by 1xx answers and parts of the head', () => {
    const stage = new Stage(1, WILLING, { firstByteMs: 10_000, idleMs: 2_000 })
    const client = stage.openClient()
    client.send('GET / HTTP/1.1\r\nHost: a.test\r\n\r\n')
    stage.pass(3_000)
    stage.servers[0]?.send('HTTP/1.1 103 Early Hints\r\n\r\n')
    stage.pass(3_000)
    stage.servers[0]?.send('HTTP/1.1 200 OK\r\n')
    stage.pass(3_000)
    expect(client.received).toBe('HTTP/1.1 103 Early Hints\r\n\r\n')
    stage.pass(2_000)
    expect(client.received).toMatch(/^HTTP\/1\.1 103 Early Hints\r\n\r\nHTTP\/1\.1 504 /)
  })

  it('runs while its 100 is awaited, and the client has none until then', () => {
    const due = limits.bodyIdleTimeoutMs
    const stage = new Stage(1, WILLING, { firstByteMs: 3 * due })
    const client = stage.openClient()
    client.send(EXPECTANT)
    stage.pass(2 * due)
    expect(client.received).toBe('')
    stage.pass(2 * due)
    expect(client.received).toMatch(/^HTTP\/1\.1 504 /)
  })

  it.each([
    [
      'the server has said 100',
      (stage: Stage) => stage.servers[0]?.send('HTTP/1.1 100 Go\r\n\r\n'),
    ],
    [
      'its client does not wait for 100',
      (_stage: Stage, client: StagePeer) => client.send('01234'),
    ],
  ])('ends when %s: the client has one from then on', (_name, goOn) => {
    const stage = new Stage(1, WILLING, { firstByteMs: 1_000 })
    const client = stage.openClient()
    client.send(EXPECTANT)
    stage.pass(500)
    goOn(stage, client)
    stage.pass(limits.bodyIdleTimeoutMs - 1_000)
    expect(client.received).not.toContain('50')
    stage.pass(2_000)
    expect(client.received).toMatch(/HTTP\/1\.1 408 /)
  })

  it('for a body is the shorter one from the final head on', () => {
    const stage = new Stage(1, WILLING, { firstByteMs: 60_000, idleMs: 2_000 })
    const client = stage.openClient()
    client.send('GET / HTTP/1.1\r\nHost: a.test\r\n\r\n')
    stage.pass(10_000)
    stage.servers[0]?.send('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n')
    stage.pass(5_000)
    expect(client.ending).not.toBe('open')
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

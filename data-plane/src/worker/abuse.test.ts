/** Clients that are slow, silent or many, with limits that are short enough to wait for. */
import { once } from 'node:events'
import { connect } from 'node:net'
import { setInterval } from 'node:timers/promises'
import { connect as connectTls } from 'node:tls'
import { Outcome } from '@sluice/proto'
import { describe, expect, it, vi } from 'vitest'
import { TEST_CHAIN_PEM, TEST_KEY_PEM } from '../testing/certificate.ts'
import { answerOk, type RawClient, type Respond } from '../testing/raw-origin.ts'
import {
  encodeCertificate,
  encodeEntryPoint,
  encodeRouter,
  encodeService,
  encodeSettings,
} from '../testing/resources.ts'
import { GET, Scene, statusOf } from '../testing/scene.ts'
import { Admission } from './listeners/admission.ts'
import { Gauges } from './observe/gauges.ts'
import { Warnings } from './observe/warnings.ts'

const short = vi.hoisted(() => {
  const limits = {
    headTimeoutMs: 1_000,
    handshakeTimeoutMs: 1_000,
    clientIdleTimeoutMs: 3_200,
    bodyIdleTimeoutMs: 1_000,
    deadlineTickMs: 20,
    connectionsPerClientMax: 20,
  }
  process.env.SLUICE_WORKER_LIMITS = JSON.stringify(limits)
  return limits
})
/** Beyond a deadline: a sweep's tick, and a test machine that is busy. Below what tells one limit from another. */
const SLACK_MS = 2_000
const PACE_MS = 50

const scene = new Scene()

/** Sends one part after the other until they are used up or the connection is over. */
async function trickle(
  client: RawClient,
  parts: Iterable<string>,
  paceMs = PACE_MS,
): Promise<void> {
  const rest = parts[Symbol.iterator]()
  for await (const _tick of setInterval(paceMs)) {
    const part = rest.next()
    if (part.done === true || client.hasEnded) return
    client.send(part.value)
  }
}

function* forever(part: string): Iterable<string> {
  for (;;) yield part
}

async function msUntilEnded(client: RawClient): Promise<number> {
  const startedAt = performance.now()
  await vi.waitFor(() => expect(client.isOver).toBe(true), { interval: 10, timeout: 5_000 })
  return performance.now() - startedAt
}

function expectAbout(actualMs: number, ms: number): void {
  expect(actualMs).toBeGreaterThan(ms - PACE_MS)
  expect(actualMs).toBeLessThan(ms + SLACK_MS)
}

async function outcomes(running: ReturnType<Scene['serve']>): Promise<[number, Outcome][]> {
  const reports = await running.stop()
  const lines = reports.flatMap(({ logs }) => [...logs.ordinary.lines, ...logs.notable.lines])
  return lines.map((line) => [line.status, line.outcome])
}

describe('a head', () => {
  it('that comes byte by byte is refused at one deadline, which no byte moves', async () => {
    const server = await scene.origin()
    const running = scene.serve([server.port])
    const client = await scene.client(running.port)
    client.send(GET.slice(0, -2))
    const [ms] = await Promise.all([msUntilEnded(client), trickle(client, forever('X'))])
    expectAbout(ms, short.headTimeoutMs)
    expect(statusOf(client.received)).toBe(408)
    expect(await outcomes(running)).toEqual([[408, Outcome.REQUEST_REFUSED]])
    expect(server.connectionCount).toBe(0)
  })

  it('that is late on a kept connection is refused too, by a deadline from its first byte', async () => {
    const server = await scene.origin()
    const { port } = scene.serve([server.port])
    const client = await scene.client(port)
    await client.answerTo(GET)
    client.received = ''
    client.send('G')
    expectAbout(await msUntilEnded(client), short.headTimeoutMs)
    expect(statusOf(client.received)).toBe(408)
  })

  it('of thousands of fields is refused with 431, however many send one', async () => {
    const server = await scene.origin()
    const running = scene.serve([server.port])
    const flood = `GET / HTTP/1.1\r\nHost: a.test\r\n${'a:\r\n'.repeat(10_000)}\r\n`
    const before = process.memoryUsage().rss
    for (let round = 0; round < 5; round += 1) {
      const answers = await Promise.all(
        Array.from({ length: short.connectionsPerClientMax }, () => scene.ask(running.port, flood)),
      )
      expect(answers.map(statusOf)).toEqual(answers.map(() => 431))
      await vi.waitFor(() => expect(running.worker.gauges.connectionsOpen).toBe(0))
    }
    expect(process.memoryUsage().rss - before).toBeLessThan(64 * 1_024 * 1_024)
    expect(server.connectionCount).toBe(0)
  })
})

describe('a connection', () => {
  it('that says nothing is closed without an answer, and leaves no record', async () => {
    const running = scene.serve([])
    const client = await scene.client(running.port)
    expectAbout(await msUntilEnded(client), short.headTimeoutMs)
    expect(client.received).toBe('')
    expect(await outcomes(running)).toEqual([])
  })

  it('that never begins its TLS handshake is closed without an answer', async () => {
    const running = scene.serve([], {}, { isHttps: true })
    const client = await scene.client(running.port)
    expectAbout(await msUntilEnded(client), short.handshakeTimeoutMs)
    expect(client.received).toBe('')
    await vi.waitFor(() => expect(running.worker.gauges.connectionsOpen).toBe(0))
  })

  it('that stops in its TLS handshake is closed without an answer', async () => {
    const running = scene.serve([], {}, { isHttps: true })
    const client = await scene.client(running.port)
    client.send('\x16\x03\x01')
    expectAbout(await msUntilEnded(client), short.handshakeTimeoutMs)
    expect(client.received).toBe('')
  })

  it('that is idle after a request has a time-out of its own', async () => {
    const server = await scene.origin()
    const { port } = scene.serve([server.port])
    const client = await scene.client(port)
    const answer = await client.answerTo(GET)
    expectAbout(await msUntilEnded(client), short.clientIdleTimeoutMs)
    expect(client.received).toBe(answer)
  })
})

describe('a body', () => {
  const POST = 'POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 30\r\n\r\n'

  it('that stops coming is refused with 408, and the server is not blamed', async () => {
    const server = await scene.origin()
    const running = scene.serve([server.port])
    const client = await scene.client(running.port)
    client.send(`${POST}half`)
    expectAbout(await msUntilEnded(client), short.bodyIdleTimeoutMs)
    expect(statusOf(client.received)).toBe(408)
    await vi.waitFor(() => expect(server.openCount).toBe(0))
    expect(await outcomes(running)).toEqual([[408, Outcome.REQUEST_REFUSED]])
  })

  it('that is slow but goes on is taken, however long it takes', async () => {
    const server = await scene.origin()
    const { port } = scene.serve([server.port])
    const client = await scene.client(port)
    const startedAt = performance.now()
    client.send(POST)
    await trickle(client, Array<string>(30).fill('x'), 2 * PACE_MS)
    await vi.waitFor(() => expect(client.received).toContain(`ok${'x'.repeat(30)}`))
    expect(performance.now() - startedAt).toBeGreaterThan(2 * short.bodyIdleTimeoutMs)
  })

  it.each([
    ['is not read', false],
    ['is read by single bytes', true],
  ])('of an answer that %s is cut off, and its server freed', async (_name, isTrickled) => {
    const server = await scene.origin(({ socket }) => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n')
      socket.write(Buffer.alloc(100_000_000))
    })
    const running = scene.serve([server.port])
    const client = await scene.client(running.port)
    client.socket.removeAllListeners('data')
    client.socket.pause()
    client.send(GET)
    const isCut = () => server.requests.length > 0 && server.openCount === 0
    for await (const _tick of setInterval(PACE_MS)) {
      if (isTrickled) client.socket.read(1)
      if (isCut()) break
    }
    expect(await outcomes(running)).toEqual([[200, Outcome.CLIENT_LEFT]])
  })
})

describe('over TLS', () => {
  async function connectSecurely(respond: Respond) {
    const server = await scene.origin(respond)
    const running = scene.serveResources([
      encodeEntryPoint('web', { isHttps: true, defaultCertificate: 'c' }),
      encodeRouter('r', 's', { hosts: ['a.test'] }),
      encodeService('s', [server.port]),
      encodeCertificate('c', ['a.test'], TEST_CHAIN_PEM, TEST_KEY_PEM),
      encodeSettings(10),
    ])
    const tls = connectTls({ port: running.port, servername: 'a.test', ca: TEST_CHAIN_PEM })
    const ended = Promise.withResolvers<void>()
    tls.on('end', ended.resolve)
    tls.on('close', () => ended.resolve())
    tls.on('error', () => {})
    await once(tls, 'secureConnect')
    return { server, running, tls, ended: ended.promise }
  }

  it('a head has the same deadline, from the end of the handshake', async () => {
    const { running, tls, ended } = await connectSecurely(answerOk)
    let answer = ''
    tls.on('data', (bytes) => {
      answer += bytes
    })
    tls.write('GET / HTTP/1.1\r\n')
    await ended
    expect(statusOf(answer)).toBe(408)
    expect(await outcomes(running)).toEqual([[408, Outcome.REQUEST_REFUSED]])
  })

  it('a client that leaves before or during its handshake is gone at once', async () => {
    const { running, tls } = await connectSecurely(answerOk)
    tls.destroy()
    const silent = connect(running.port, '127.0.0.1')
    await once(silent, 'connect')
    silent.destroy()
    const counts = { connectionsAccepted: 2, connectionsOpen: 0 }
    // Well within the time-out of a handshake.
    await vi.waitFor(() => expect(running.worker.gauges).toMatchObject(counts), { timeout: 200 })
  })

  it('a client that half-closes after its request still gets the answer', async () => {
    const { tls, ended } = await connectSecurely(answerOk)
    let answer = ''
    tls.on('data', (bytes) => {
      answer += bytes
    })
    tls.allowHalfOpen = true
    tls.end(GET)
    await ended
    expect(statusOf(answer)).toBe(200)
  })

  it('an answer that is not read is cut off, and its server freed', async () => {
    const { server, running, tls } = await connectSecurely(({ socket }) => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n')
      socket.write(Buffer.alloc(100_000_000))
    })
    tls.write(GET)
    await vi.waitFor(() => expect(server.requests.length).toBe(1))
    await vi.waitFor(() => expect(server.openCount).toBe(0), { timeout: 3_000 })
    expect(await outcomes(running)).toEqual([[200, Outcome.CLIENT_LEFT]])
    tls.destroy()
  })
})

describe('one client', () => {
  it('has a bound of its own: what is over it is closed at once and counted as shed', async () => {
    const server = await scene.origin()
    const running = scene.serve([server.port])
    const most = short.connectionsPerClientMax
    const clients = await Promise.all(
      Array.from({ length: most + 5 }, () => scene.client(running.port)),
    )
    await vi.waitFor(() => expect(clients.filter(({ isOver }) => isOver)).toHaveLength(5))
    expect(running.worker.gauges).toMatchObject({
      connectionsOpen: most,
      connectionsAccepted: most,
      connectionsShed: 5,
    })
    const left = clients.find(({ isOver }) => !isOver)
    left?.close()
    await vi.waitFor(() => expect(running.worker.gauges.connectionsOpen).toBe(most - 1))
    expect(statusOf(await scene.ask(running.port, GET))).toBe(200)
  })

  it.each([
    ['http', false],
    ['https', true],
  ])('over %s has its places back when its connections end', async (_name, isHttps) => {
    const running = scene.serve([], {}, { isHttps })
    for (let round = 0; round < 3; round += 1) {
      const clients = await Promise.all(
        Array.from({ length: short.connectionsPerClientMax }, () => scene.client(running.port)),
      )
      await vi.waitFor(() =>
        expect(running.worker.gauges.connectionsOpen).toBe(short.connectionsPerClientMax),
      )
      for (const client of clients) client.socket.resetAndDestroy()
      await vi.waitFor(() => expect(running.worker.gauges.connectionsOpen).toBe(0))
    }
    expect(running.worker.gauges.connectionsShed).toBe(0)
  })

  it('that is a trusted peer has none, since many stand behind it', async () => {
    const running = scene.serve([], {}, { trustedPeers: ['127.0.0.1/32'] })
    const count = short.connectionsPerClientMax + 5
    await Promise.all(Array.from({ length: count }, () => scene.client(running.port)))
    await vi.waitFor(() => expect(running.worker.gauges.connectionsOpen).toBe(count))
    expect(running.worker.gauges.connectionsShed).toBe(0)
  })

  it('of IPv6 is 64 bits of an address', () => {
    const now = () => 0
    const admission = new Admission(new Gauges(), new Warnings(now, () => {}), 1_000)
    const same = ['2001:db8:1:2::1', '2001:db8:1:2:3:4:5:6', '2001:db8:1:2:ffff::']
    const enter = (address: string) => admission.enter(address, false)
    for (let turn = 0; turn < short.connectionsPerClientMax; turn += 1) {
      expect(enter(same[turn % same.length] ?? '')).toBe(true)
    }
    expect(same.map(enter)).toEqual([false, false, false])
    expect(['2001:db8:1:3::1', '2001:db8::1', '::1', '1.2.3.4'].map(enter)).toEqual(
      Array(4).fill(true),
    )
    admission.leave('2001:db8:1:2::')
    expect(enter('2001:db8:1:2::7')).toBe(true)
  })
})

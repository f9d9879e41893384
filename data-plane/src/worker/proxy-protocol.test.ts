/** Connections that begin with a PROXY protocol header, from clients and to servers. */
import { connect as connectTls } from 'node:tls'
import { ProxyProtocol } from '@sluice/proto'
import { describe, expect, it, vi } from 'vitest'
import { TEST_CHAIN_PEM, TEST_KEY_PEM } from '../testing/certificate.ts'
import { answerOk, type Respond } from '../testing/raw-origin.ts'
import {
  type EntryPointOptions,
  encodeCertificate,
  encodeEntryPoint,
  encodeRouter,
  encodeService,
  encodeSettings,
  type ServiceOptions,
} from '../testing/resources.ts'
import { GET, Scene, statusOf } from '../testing/scene.ts'

vi.hoisted(() => {
  const limits = { headTimeoutMs: 2_000, deadlineTickMs: 20, connectionsPerClientMax: 5 }
  process.env.SLUICE_WORKER_LIMITS = JSON.stringify(limits)
})

const LOOPBACK = ['127.0.0.0/8']
const V1 = 'PROXY TCP4 1.2.3.4 5.6.7.8 1111 80\r\n'
const V1_IPV6 = 'PROXY TCP6 2001:db8::1 2001:db8::2 1111 80\r\n'
const V2 =
  '\r\n\r\n\0\r\nQUIT\n\x21\x11\x00\x12\x01\x02\x03\x04\x05\x06\x07\x08\x04\x57\x00\x50\x04\x00\x03xyz'
const V2_LOCAL = '\r\n\r\n\0\r\nQUIT\n\x20\x00\x00\x00'
const LAST = 'GET / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n'

const scene = new Scene()

async function behindProxy(options: EntryPointOptions = {}, service: ServiceOptions = {}) {
  const server = await scene.origin()
  const entryPoint = { proxyProtocolPeers: LOOPBACK, ...options }
  const running = scene.serve([server.port], service, entryPoint)
  const field = (name: string) =>
    server.requests.map(({ head }) => new RegExp(`\r\n${name}: (.*)\r\n`).exec(head)?.[1])
  return { server, running, field }
}

describe('a connection from a proxy', () => {
  it.each([
    ['version 1', V1, '1.2.3.4'],
    ['version 1 of IPv6', V1_IPV6, '2001:db8::1'],
    ['version 1 that knows nothing', 'PROXY UNKNOWN\r\n', '127.0.0.1'],
    ['version 2', V2, '1.2.3.4'],
    ['version 2 that is local', V2_LOCAL, '127.0.0.1'],
  ])('with a header of %s has the client that it says', async (_name, header, client) => {
    const { running, field } = await behindProxy()
    expect(statusOf(await scene.ask(running.port, header + LAST))).toBe(200)
    const sender = await scene.client(running.port)
    sender.send(header)
    expect(statusOf(await sender.answerTo(GET))).toBe(200)
    expect(statusOf(await sender.answerTo(GET))).toBe(200)
    expect(field('X-Forwarded-For')).toEqual([client, client, client])
    const lines = (await running.stop()).flatMap(({ logs }) => logs.ordinary.lines)
    expect(new Set(lines.map(({ clientAddress }) => clientAddress))).toEqual(new Set([client]))
  })

  it.each([
    ['1', V1],
    ['2', V2],
  ])('may send version %s byte by byte', async (_name, header) => {
    const { running, field } = await behindProxy()
    const sender = await scene.client(running.port)
    sender.socket.setNoDelay(true)
    for (const byte of Buffer.from(header + LAST, 'latin1')) {
      await new Promise((resolve) => sender.socket.write(Uint8Array.of(byte), resolve))
    }
    expect(statusOf(await sender.over())).toBe(200)
    expect(field('X-Forwarded-For')).toEqual(['1.2.3.4'])
  })

  it('is matched by the client that it says, not by the proxy', async () => {
    const server = await scene.origin()
    const { port } = scene.serveResources([
      encodeEntryPoint('web', { proxyProtocolPeers: LOOPBACK }),
      encodeRouter('r', 's', { clientRanges: ['1.2.3.0/24'] }),
      encodeService('s', [server.port]),
      encodeSettings(10),
    ])
    expect(statusOf(await scene.ask(port, V1 + LAST))).toBe(200)
    expect(statusOf(await scene.ask(port, V2_LOCAL + LAST))).toBe(404)
  })

  it.each([
    ['the client is trusted', ['2001:db8::/32'], '6.6.6.6, 2001:db8::1'],
    ['only the proxy is', LOOPBACK, '2001:db8::1'],
  ])('has what it forwards kept when %s', async (_name, trustedPeers, expected) => {
    const { running, field } = await behindProxy({ trustedPeers })
    const lines = 'Forwarded: for=6.6.6.6\r\nX-Forwarded-For: 6.6.6.6\r\n'
    await scene.ask(running.port, V1_IPV6 + LAST.replace('Host', `${lines}Host`))
    expect(field('X-Forwarded-For')).toEqual([expected])
    const forwarded = 'for=6.6.6.6, for="[2001:db8::1]";proto=http;host=a.test'
    expect(field('Forwarded')).toEqual([trustedPeers === LOOPBACK ? undefined : forwarded])
  })

  it.each([
    ['no header', GET],
    ['a header that is malformed', V1.replace('TCP4', 'TCP9')],
    ['a header that is too long', `PROXY UNKNOWN ${'x'.repeat(100)}`],
    ['a header that never ends', V1.slice(0, -1)],
    ['nothing', ''],
  ])('that sends %s is closed without an answer and counted', async (_name, text) => {
    const { server, running } = await behindProxy()
    const sender = await scene.client(running.port)
    sender.send(text)
    expect(await sender.over()).toBe('')
    await vi.waitFor(() =>
      expect(running.worker.gauges).toMatchObject({ connectionsOpen: 0, proxyHeadersRefused: 1 }),
    )
    expect(server.connectionCount).toBe(0)
    expect(running.worker.gauges.exchangesStarted).toBe(0)
  })

  it('that ends without a byte, as a probe does, is not counted as refused', async () => {
    const { running } = await behindProxy()
    const probe = await scene.client(running.port)
    probe.socket.end()
    await vi.waitFor(() =>
      expect(running.worker.gauges).toMatchObject({ connectionsAccepted: 1, connectionsOpen: 0 }),
    )
    expect(running.worker.gauges.proxyHeadersRefused).toBe(0)
  })

  it.each([
    ['1', V1],
    ['2', V2],
  ])('outside the ranges that sends version %s sends malformed HTTP', async (_name, header) => {
    const { server, running } = await behindProxy({ proxyProtocolPeers: ['10.0.0.0/8'] })
    expect(statusOf(await scene.ask(running.port, header + LAST))).toBe(400)
    expect(server.connectionCount).toBe(0)
  })

  it('is bounded by the client that it says', async () => {
    const { running } = await behindProxy()
    const one = await Promise.all(Array.from({ length: 5 }, () => scene.client(running.port)))
    for (const sender of one) {
      sender.send(V1)
      expect(statusOf(await sender.answerTo(GET))).toBe(200)
    }
    expect(await scene.ask(running.port, V1 + LAST)).toBe('')
    expect(running.worker.gauges.connectionsShed).toBe(1)
    expect(statusOf(await scene.ask(running.port, V1_IPV6 + LAST))).toBe(200)
    expect(statusOf(await scene.ask(running.port, V2_LOCAL + LAST))).toBe(200)
    for (const sender of one) sender.close()
    await vi.waitFor(() => expect(running.worker.gauges.connectionsOpen).toBe(0))
    expect(statusOf(await scene.ask(running.port, V1 + LAST))).toBe(200)
  })
})

describe('TLS behind a header', () => {
  async function serveTls(respond?: Respond) {
    const server = await scene.origin(respond)
    const entryPoint = { isHttps: true, proxyProtocolPeers: LOOPBACK, defaultCertificate: 'c' }
    const running = scene.serveResources([
      encodeEntryPoint('web', entryPoint),
      encodeRouter('r', 's', { hosts: ['a.test'] }),
      encodeService('s', [server.port], { proxyProtocol: ProxyProtocol.V1 }),
      encodeCertificate('c', ['a.test'], TEST_CHAIN_PEM, TEST_KEY_PEM),
      encodeSettings(10),
    ])
    return { server, running, ca: TEST_CHAIN_PEM }
  }

  it.each([
    ['in a write of its own', false],
    ['in one write with the first bytes of TLS', true],
  ])('%s has the client that it says, for the server too', async (_name, isJoined) => {
    const head = vi.fn<(line: string) => void>()
    const { server, running, ca } = await serveTls(answerOk)
    server.onConnectionStart = head
    const sender = await scene.client(running.port)
    sender.socket.removeAllListeners('data')
    if (isJoined) sender.socket.cork()
    sender.send(V1)
    const tls = connectTls({ socket: sender.socket, servername: 'a.test', ca })
    if (isJoined) process.nextTick(() => sender.socket.uncork())
    let received = ''
    tls.on('data', (bytes) => {
      received += bytes.toString('latin1')
    })
    tls.write(LAST)
    await vi.waitFor(() => expect(statusOf(received)).toBe(200))
    expect(head.mock.calls).toEqual([[V1.trimEnd()]])
    expect(server.requests[0]?.head).toContain(
      '\r\nX-Forwarded-For: 1.2.3.4\r\nX-Forwarded-Proto: https\r\n',
    )
    tls.destroy()
    await vi.waitFor(() => expect(running.worker.gauges.connectionsOpen).toBe(0))
  })

  it('is not begun without the header', async () => {
    const { running, ca } = await serveTls()
    const sender = await scene.client(running.port)
    const tls = connectTls({ socket: sender.socket, servername: 'a.test', ca })
    const failed = vi.fn()
    tls.on('error', failed)
    await vi.waitFor(() => expect(failed).toHaveBeenCalled())
    expect(running.worker.gauges.proxyHeadersRefused).toBe(1)
  })
})

describe('a connection to a server', () => {
  it.each([
    ['v1', ProxyProtocol.V1],
    ['v2', ProxyProtocol.V2],
  ])('begins with a header in %s, and carries one exchange', async (name, proxyProtocol) => {
    const { server, running } = await behindProxy({ proxyProtocolPeers: [] }, { proxyProtocol })
    const headers: string[] = []
    server.onConnectionStart = (header) => headers.push(header)
    const sender = await scene.client(running.port)
    expect(statusOf(await sender.answerTo(GET))).toBe(200)
    expect(statusOf(await sender.answerTo(GET))).toBe(200)
    const port = (sender.socket.address() as { port: number }).port
    const line = `PROXY TCP4 127.0.0.1 127.0.0.1 ${port} ${running.port}`
    expect(headers).toEqual(name === 'v1' ? [line, line] : [line, line].map(inVersion2))
    expect([server.connectionCount, server.requests.length]).toEqual([2, 2])
    await vi.waitFor(() => expect(server.openCount).toBe(0))
    expect(running.worker.gauges.upstreamConnectionsIdle).toBe(0)
  })

  it('passes on what a proxy in front has announced', async () => {
    const { server, running } = await behindProxy({}, { proxyProtocol: ProxyProtocol.V1 })
    const headers: string[] = []
    server.onConnectionStart = (header) => headers.push(header)
    await scene.ask(running.port, V2 + LAST)
    await scene.ask(running.port, V1_IPV6 + LAST)
    expect(headers).toEqual([V1.trimEnd(), V1_IPV6.trimEnd()])
  })

  it('that began without one is not used when a version asks for it', async () => {
    const server = await scene.origin()
    const resources = (proxyProtocol: ProxyProtocol) => [
      encodeEntryPoint('web'),
      encodeRouter('r', 's', { hosts: ['a.test'] }),
      encodeService('s', [server.port], { proxyProtocol }),
    ]
    const running = scene.serveResources(resources(ProxyProtocol.UNSPECIFIED))
    const sender = await scene.client(running.port)
    await sender.answerTo(GET)
    server.onConnectionStart = vi.fn()
    const version = { kind: 'configure', version: 2n, hash: '', removed: [] } as const
    running.worker.configure({ ...version, resources: resources(ProxyProtocol.V1) })
    await sender.answerTo(GET)
    expect(server.onConnectionStart).toHaveBeenCalledExactlyOnceWith(
      expect.stringMatching(/^PROXY TCP4 127/),
    )
    await vi.waitFor(() => expect(server.openCount).toBe(0))
  })
})

/** The same header in version 2, as the origin shows it. */
function inVersion2(line: string): string {
  const [, , source = '', destination = '', ...ports] = line.split(' ')
  const addresses = [...source.split('.'), ...destination.split('.')].map(Number)
  const numbers = ports.flatMap((port) => [Number(port) >> 8, Number(port) & 0xff])
  const body = Buffer.from([...addresses, ...numbers]).toString('latin1')
  return `\r\n\r\n\0\r\nQUIT\n\x21\x11\x00\x0c${body}`
}

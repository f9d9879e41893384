/** Handshakes of clients that are not like others; tls-alert and names are in test/src/https.test.ts. */
import { once } from 'node:events'
import { type AddressInfo, connect as connectTcp, createServer, type Server } from 'node:net'
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { TEST_CHAIN_PEM, TEST_KEY_PEM } from '../../testing/certificate.ts'
import { encodeCertificate, encodeEntryPoint } from '../../testing/resources.ts'
import { GET } from '../../testing/scene.ts'
import { type RunningWorker, startWorker } from '../../testing/worker.ts'

/** Nothing is routed, which is what the node says once the handshake is done. */
const NOT_FOUND = 'HTTP/1.1 404'

let running: RunningWorker
let relay: Server | undefined

beforeEach(() => {
  running = startWorker([
    encodeEntryPoint('web', { isHttps: true, defaultCertificate: 'c' }),
    encodeCertificate('c', ['a.test'], TEST_CHAIN_PEM, TEST_KEY_PEM),
  ])
})

afterEach(async () => {
  relay?.close()
  relay = undefined
  await running.stop()
})

/** Passes every byte of a client on as a write of its own. */
async function startSplitter(): Promise<number> {
  relay = createServer((client) => {
    const worker = connectTcp({ port: running.port, host: '127.0.0.1', noDelay: true })
    client.on('data', (bytes) => {
      for (const byte of Buffer.from(bytes)) worker.write(Buffer.of(byte))
    })
    worker.pipe(client)
    for (const socket of [client, worker]) socket.on('error', () => socket.destroy())
    client.on('close', () => worker.destroy())
  }).listen(0, '127.0.0.1')
  await once(relay, 'listening')
  return (relay.address() as AddressInfo).port
}

async function shake(port: number, options: ConnectionOptions = {}): Promise<TLSSocket> {
  const host = '127.0.0.1'
  const to = { port, host, servername: 'a.test', rejectUnauthorized: false }
  const socket = connect({ ...to, ...options })
  await once(socket, 'secureConnect')
  return socket
}

async function answerTo(socket: TLSSocket): Promise<string> {
  socket.write(GET)
  const [bytes] = await once(socket, 'data')
  return String(bytes)
}

it.each(['TLSv1.2', 'TLSv1.3'] as const)(
  'takes a %s handshake that comes byte by byte',
  async (version) => {
    const socket = await shake(await startSplitter(), { maxVersion: version, minVersion: version })
    expect(socket.getProtocol()).toBe(version)
    expect(await answerTo(socket)).toContain(NOT_FOUND)
    socket.destroy()
  },
)

it('takes a hello of several thousand bytes', async () => {
  const ALPNProtocols = Array.from({ length: 30 }, (_, index) => `${index}`.padEnd(200, 'x'))
  const socket = await shake(running.port, { ALPNProtocols: [...ALPNProtocols, 'http/1.1'] })
  expect(socket.alpnProtocol).toBe('http/1.1')
  expect(await answerTo(socket)).toContain(NOT_FOUND)
  socket.destroy()
})

it('shakes hands once on a connection: TLS 1.2 cannot be renegotiated', async () => {
  const socket = await shake(running.port, { maxVersion: 'TLSv1.2' })
  const { promise, resolve } = Promise.withResolvers<string>()
  socket.on('error', (error) => resolve(error.message))
  socket.renegotiate({}, (error) => {
    if (error === null) resolve('renegotiated')
  })
  expect(await promise).toContain('no renegotiation')
})

it.each([
  ['HTTP', GET],
  ['noise', '\x99'.repeat(5_000)],
])('closes a connection that speaks %s instead of TLS, and counts it once', async (_what, text) => {
  const client = connectTcp({ port: running.port, host: '127.0.0.1' })
  client.on('error', () => {})
  client.write(text, 'latin1')
  client.resume()
  await once(client, 'close')
  const socket = await shake(running.port)
  expect(await answerTo(socket)).toContain(NOT_FOUND)
  expect(running.worker.gauges.connectionsOpen).toBe(1)
  socket.destroy()
})

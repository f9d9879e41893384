import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { connect as connectTcp } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { Client, credentials, type ServiceError, status } from '@grpc/grpc-js'
import { TrafficRow } from '@sluice/proto'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { CertificateAuthority, fleetServerName } from '../certificates/authority.ts'
import { makeCsr } from '../certificates/testing/make-csr.ts'
import { openDatabase } from '../store/database.ts'
import { Vault } from '../store/vault.ts'
import type { FleetServerOptions } from './fleet-server.ts'
import { hashOf, TestFleet } from './testing/test-fleet.ts'
import { apply, connectWithoutReading, enrol, nextUpdate, TestNode } from './testing/test-node.ts'

let fleet: TestFleet
let node: TestNode

async function start(options: Partial<FleetServerOptions> = {}): Promise<void> {
  fleet = await TestFleet.start(options)
  node = await TestNode.enrolled(fleet, 'edge-1')
}

beforeEach(() => start())

afterEach(async () => {
  node.close()
  await fleet.remove()
})

async function restartWith(options: Partial<FleetServerOptions>): Promise<void> {
  node.close()
  await fleet.remove()
  await start(options)
}

function portOf(address: string): number {
  return Number(address.slice(address.lastIndexOf(':') + 1))
}

async function expectServing(): Promise<void> {
  const stream = await node.connected()
  stream.call.end()
  expect(await stream.ended).toEqual([status.OK, 'OK'])
}

const certificateRequired =
  'a valid node certificate of this control plane is required: join, or join again where it has expired, with a join token'

it('presents its leaf and the CA, so that a joining node can check both', async () => {
  const socket = connectTls({
    port: portOf(fleet.address),
    rejectUnauthorized: false,
    ALPNProtocols: ['h2'],
  })
  await once(socket, 'secureConnect')
  const leaf = socket.getPeerCertificate(true)
  const ca = new X509Certificate(leaf.issuerCertificate.raw)
  expect(new X509Certificate(leaf.raw).checkHost(fleetServerName)).toBe(fleetServerName)
  expect(new X509Certificate(leaf.raw).verify(ca.publicKey)).toBe(true)
  expect(ca.fingerprint256).toBe(new X509Certificate(fleet.authority.caPem).fingerprint256)
  socket.destroy()
})

it.each([
  ['plain text', (port: number) => connectTcp(port, '127.0.0.1')],
  [
    'TLS without HTTP/2',
    (port: number) => connectTls({ port, rejectUnauthorized: false, ALPNProtocols: ['h2'] }),
  ],
])('goes on after garbage bytes in %s', async (_name, open) => {
  const socket = open(portOf(fleet.address))
  socket.on('error', () => undefined)
  socket.resume()
  const closed = new Promise((resolve) => socket.on('close', resolve))
  socket.write(Buffer.alloc(100_000, 'GARBAGE\r\n'))
  await closed
  await expectServing()
})

it('refuses streams without a client certificate', async () => {
  const channel = credentials.createSsl(Buffer.from(fleet.authority.caPem))
  const options = { 'grpc.ssl_target_name_override': fleetServerName }
  for (const path of ['/sluice.v1.FleetService/Configure', '/sluice.v1.TelemetryService/Report']) {
    const client = new Client(fleet.address, channel, options)
    const call = client.makeBidiStreamRequest(path, asIs, asIs)
    const [error] = (await once(call, 'error')) as [ServiceError]
    expect([error.code, error.details]).toEqual([status.UNAUTHENTICATED, certificateRequired])
    client.close()
  }
})

function asIs(bytes: Buffer): Buffer {
  return bytes
}

it('refuses a certificate of another CA that names the same node', async () => {
  const db = await openDatabase(':memory:')
  const vault = new Vault(new Uint8Array(32))
  const foreign = await CertificateAuthority.open({ db, vault, now: Date.now })
  const { csrPem, privateKeyPem } = await makeCsr()
  const { certificatePem } = await foreign.issueNode(csrPem, node.id)
  node.identity = { ...node.identity, privateKeyPem, certificatePem }
  expect(await node.connect().ended).toEqual([status.UNAUTHENTICATED, certificateRequired])
  expect(await node.report().ended).toEqual([status.UNAUTHENTICATED, certificateRequired])
  await db.destroy()
})

it('refuses a server certificate of its own CA as the certificate of a node', async () => {
  const { chainPem, privateKeyPem } = await fleet.authority.issueSite(['edge-1'])
  node.identity = { ...node.identity, privateKeyPem, certificatePem: chainPem }
  expect(await node.connect().ended).toEqual([status.UNAUTHENTICATED, certificateRequired])
})

it('refuses a node that it does not know, though its own CA signed it', async () => {
  const { csrPem, privateKeyPem } = await makeCsr()
  const { certificatePem } = await fleet.authority.issueNode(csrPem, 'n-stranger')
  node.identity = { ...node.identity, privateKeyPem, certificatePem }
  const refused = [status.UNAUTHENTICATED, 'the node is unknown; enrol it with a join token']
  expect(await node.connect().ended).toEqual(refused)
  expect(await node.report().ended).toEqual(refused)
})

it('refuses a certificate for a known node that it never gave to it', async () => {
  const { csrPem, privateKeyPem } = await makeCsr()
  const { certificatePem } = await fleet.authority.issueNode(csrPem, node.id)
  node.identity = { ...node.identity, privateKeyPem, certificatePem }
  expect(await node.connect().ended).toEqual([
    status.UNAUTHENTICATED,
    'the node certificate was replaced by a newer one',
  ])
})

it('refuses a certificate that has expired since the connection was made', async () => {
  fleet.clockOffsetMs = 31 * 86_400_000
  expect(await node.connect().ended).toEqual([
    status.UNAUTHENTICATED,
    'the client certificate is no valid node certificate',
  ])
})

/** Sends bytes as the first message of a call. */
async function sendRaw(path: string, bytes: Buffer): Promise<[status, string]> {
  const { caPem, privateKeyPem, certificatePem } = node.identity
  const client = new Client(
    fleet.address,
    credentials.createSsl(
      Buffer.from(caPem),
      Buffer.from(privateKeyPem),
      Buffer.from(certificatePem),
    ),
    { 'grpc.ssl_target_name_override': fleetServerName, 'grpc.max_send_message_length': -1 },
  )
  const call = client.makeBidiStreamRequest(path, asIs, asIs)
  call.write(bytes)
  const [error] = (await once(call, 'error')) as [ServiceError]
  client.close()
  return [error.code, error.details]
}

const paths = [
  '/sluice.v1.EnrolmentService/Enrol',
  '/sluice.v1.FleetService/Configure',
  '/sluice.v1.TelemetryService/Report',
]

it.each(paths.slice(1))('refuses a message that is garbage at %s', async (path) => {
  expect(await sendRaw(path, Buffer.alloc(1_000, 0xff))).toEqual([
    status.INVALID_ARGUMENT,
    'the message cannot be decoded',
  ])
  await expectServing()
})

it.each(paths.slice(1))('refuses a message of another type at %s', async (path) => {
  const row = Buffer.from(TrafficRow.encode({ ...TrafficRow.create(), minuteMs: 1n }).finish())
  expect(await sendRaw(path, row)).toEqual([
    status.INVALID_ARGUMENT,
    expect.stringMatching(/^the message (is empty|holds neither)/),
  ])
  await expectServing()
})

it.each(paths)('refuses an oversized message at %s', async (path) => {
  expect(await sendRaw(path, Buffer.alloc(5 * 1_048_576))).toEqual([
    status.RESOURCE_EXHAUSTED,
    expect.stringContaining('larger than max'),
  ])
  await expectServing()
})

it('refuses a method that it does not have', async () => {
  expect((await sendRaw('/sluice.v1.FleetService/Nothing', Buffer.alloc(0)))[0]).toBe(
    status.UNIMPLEMENTED,
  )
})

it('ends a stream that says no hello in time', async () => {
  await restartWith({ timings: { helloDueMs: 100 } })
  expect(await node.configure().ended).toEqual([
    status.DEADLINE_EXCEEDED,
    'hello is due within 0.1 s',
  ])
})

it('pings, and ends a session whose pong does not come', async () => {
  await restartWith({ timings: { pingIntervalMs: 50, pongDueMs: 100 } })
  const stream = await node.connected()
  stream.answersPings = false
  expect(await stream.ended).toEqual([status.UNAVAILABLE, 'no pong came within 0.1 s'])
})

it('keeps a session that answers its pings, and refuses pongs to pings that never were', async () => {
  await restartWith({ timings: { pingIntervalMs: 20, pongDueMs: 1_000 } })
  const stream = await node.connected()
  stream.answersPings = false
  const { message } = await stream.next()
  expect(message).toEqual({ $case: 'ping', value: { id: 1n } })
  stream.send({ $case: 'pong', value: { id: 1n, timeMs: 0n } })
  expect((await stream.next()).message).toEqual({ $case: 'ping', value: { id: 2n } })
  stream.send({ $case: 'pong', value: { id: 9n, timeMs: 0n } })
  expect(await stream.ended).toEqual([status.INVALID_ARGUMENT, 'pong: no ping had the id 9'])
})

it('ends a stream whose node does not read', async () => {
  await restartWith({ timings: { updateWriteMs: 200, endGraceMs: 100 } })
  const { reset } = connectWithoutReading(node)
  await vi.waitFor(async () => expect((await fleet.node('edge-1')).isConnected).toBe(true))
  fleet.versions.publish(1n, [new Uint8Array(8 * 1_048_576)])
  await reset
  await vi.waitFor(async () => expect((await fleet.node('edge-1')).isConnected).toBe(false))
})

it('sends the newest version when the answer to the one before does not come', async () => {
  await restartWith({ timings: { answerDueMs: 100 } })
  fleet.versions.publish(1n)
  const stream = node.connect()
  expect((await nextUpdate(stream)).version).toBe(1n)
  fleet.versions.publish(2n)
  expect((await nextUpdate(stream)).version).toBe(2n)
  // The late answer still counts, and then the one to the newest.
  stream.send({ $case: 'applied', value: { version: 1n, hash: hashOf(1n), tookMs: 1 } })
  stream.send({ $case: 'applied', value: { version: 2n, hash: hashOf(2n), tookMs: 1 } })
  await vi.waitFor(async () => expect((await fleet.node('edge-1')).state).toBe('in-sync'))
})

it('sends a version of many megabytes to several nodes', async () => {
  const others = await Promise.all(
    ['edge-2', 'edge-3'].map((name) => TestNode.enrolled(fleet, name)),
  )
  fleet.versions.publish(1n, [new Uint8Array(20 * 1_048_576)])
  const streams = [node, ...others].map((each) => each.connect())
  expect(await Promise.all(streams.map(apply))).toEqual([1n, 1n, 1n])
  await vi.waitFor(async () =>
    expect((await fleet.registry.list()).map(({ state }) => state)).toEqual(
      Array(3).fill('in-sync'),
    ),
  )
  for (const other of others) {
    other.close()
  }
})

it('admits streams at a bounded rate and says so', async () => {
  await restartWith({ admission: { perSecond: 0.001, burst: 1, waitingMax: 1 } })
  await node.connected()
  // Which of the two waits and which is refused is the network's choice.
  const [first, second] = [node.report().ended, node.report().ended]
  expect(await Promise.race([first, second])).toEqual([
    status.UNAVAILABLE,
    'too many nodes connect at once; try again later',
  ])
})

it('does not let strangers use up the admissions of nodes', async () => {
  await restartWith({ admission: { perSecond: 0.001, burst: 1 } })
  const { csrPem, privateKeyPem } = await makeCsr()
  const { certificatePem } = await fleet.authority.issueNode(csrPem, 'n-stranger')
  const identity = { ...node.identity, privateKeyPem, certificatePem }
  const stranger = new TestNode(fleet, 'n-stranger', 'stranger', identity)
  expect((await stranger.connect().ended)[0]).toBe(status.UNAUTHENTICATED)
  stranger.close()
  await expectServing()
})

it('ends the streams when it stops, and says why it cannot listen', async () => {
  const stream = await node.connected()
  const ended = stream.ended
  const { address } = fleet
  const other = await TestFleet.start()
  await expect(other.server.start(address)).rejects.toMatchObject({
    message: `fleet address ${address} cannot be listened on`,
    code: 'EADDRINUSE',
  })
  await other.remove()
  await fleet.restart()
  expect(await ended).toEqual([status.UNAVAILABLE, 'the control plane stops'])
})

it('knows its nodes after a restart', async () => {
  await fleet.restart()
  node.close()
  await expectServing()
  expect(await enrol(fleet, { token: await fleet.token(), ...(await named('edge-1')) })).toEqual([
    status.ALREADY_EXISTS,
    expect.stringContaining('edge-1'),
  ])
})

async function named(name: string) {
  return { name, csrPem: (await makeCsr()).csrPem }
}

it('compares the clock of a node again with each pong', async () => {
  await restartWith({ timings: { pingIntervalMs: 50, pongDueMs: 50 } })
  await node.connected({ timeMs: BigInt(Date.now() + 90_000) })
  await vi.waitFor(async () => {
    const { clockOffsetMs } = await fleet.node(node.name)
    expect(Math.abs(clockOffsetMs ?? 90_000)).toBeLessThan(10_000)
  }, 5_000)
})

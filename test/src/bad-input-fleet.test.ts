/**
 * Nonsense at the fleet port: enrolment and both streams. Each ends with a status that says why, no node
 * appears, no counter moves, and the node that is really there stays connected.
 */

import { once } from 'node:events'
import { cp } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { credentials } from '@grpc/grpc-js'
import { type ConfigureRequest, EnrolRequest, type ReportRequest } from '@sluice/proto'
import { afterEach, expect } from 'vitest'
import { claims } from './harness/claims.ts'
import { DataPlaneNode } from './harness/data-plane-node.ts'
import { bounded, eventually } from './harness/eventually.ts'
import { type Fleet, startFleet } from './harness/fleet.ts'
import {
  callEnd,
  credentialsOf,
  endOf,
  enrol,
  enrolIdentity,
  fleetClient,
  type Identity,
  rawStream,
  type StreamName,
  sayInsideTls,
  telemetryClient,
} from './harness/fleet-client.ts'
import { freePort } from './harness/ports.ts'
import type { Scope } from './harness/scope.ts'
import { makeKeys, signingRequest, TestCa } from './harness/test-ca.ts'

const { it, suite, before } = claims()
let fleet: Fleet
let identity: Identity
let csrPem: string
let untouched: unknown

before(async () => {
  fleet = await startFleet(suite)
  identity = await enrolIdentity(suite, fleet.controlPlane, 'by-hand')
  csrPem = await signingRequest(await makeKeys())
  untouched = await everything()
})

afterEach(async () => {
  expect(await everything()).toEqual(untouched)
})

async function everything(): Promise<unknown> {
  const { version, hash } = await fleet.status()
  const nodes = await fleet.nodeViews()
  const traffic = await fleet.api.get('/api/v1/analytics/traffic?by=node')
  const logs = await fleet.api.get('/api/v1/logs')
  const shown = nodes.map(({ id, name, state, bootId }) => ({ id, name, state, bootId }))
  return { version, hash, nodes: shown, traffic: (traffic as { series: unknown }).series, logs }
}

/** How an enrolment ends. */
async function enrolmentEnd(scope: Scope, request: Partial<EnrolRequest>): Promise<string> {
  const whole = EnrolRequest.fromPartial({ csrPem, name: 'intruder', labels: {}, ...request })
  try {
    await enrol(scope, fleet.controlPlane, whole)
    return 'OK'
  } catch (error) {
    const { code, details } = callEnd(error)
    expect(details.length).toBeGreaterThan(0)
    return code
  }
}

it('a token of garbage, an unknown one, a used one and a deleted one are refused', async (scope) => {
  const { controlPlane } = fleet
  const fingerprint = (await controlPlane.createJoinToken()).split('.')[2]
  const used = await controlPlane.createJoinToken()
  expect(await enrolmentEnd(scope, { token: used, csrPem: 'refused before the use' })).toBe(
    'INVALID_ARGUMENT',
  )
  const gone = await controlPlane.api.post<{ id: string; token: string }>('/api/v1/join-tokens', {})
  await controlPlane.api.delete(`/api/v1/join-tokens/${gone.id}`)
  const unknown = `sluice-join.${'A'.repeat(43)}.${fingerprint}`
  for (const token of ['', 'garbage', unknown, gone.token, `${used}x`]) {
    expect(`${token}: ${await enrolmentEnd(scope, { token })}`).toBe(`${token}: UNAUTHENTICATED`)
  }
})

it('a token that has expired is refused', async (scope) => {
  const body = { expiresInSeconds: 1 }
  const path = '/api/v1/join-tokens'
  const brief = await fleet.api.post<{ token: string; expiresAt: string }>(path, body)
  const expired = () => Date.now() > Date.parse(brief.expiresAt)
  await eventually(expired, { withinMs: 5_000, that: 'the expiry' })
  expect(await enrolmentEnd(scope, { token: brief.token })).toBe('UNAUTHENTICATED')
})

it('a token for one use is refused the second time', async (scope) => {
  const other = await startFleet(scope, { nodes: 0 })
  const token = await other.controlPlane.createJoinToken()
  const request = { token, csrPem, name: 'first', labels: {} }
  await enrol(scope, other.controlPlane, request)
  const again = enrol(scope, other.controlPlane, { ...request, name: 'second' })
  expect(callEnd(await again.catch((error: unknown) => error)).code).toBe('UNAUTHENTICATED')
  expect((await other.nodeViews()).map((node) => node.name)).toEqual(['first'])
})

it('signing requests that are none, and names that are none, are refused and use up no token', async (scope) => {
  const token = await fleet.controlPlane.createJoinToken()
  const broken = csrPem.replace(/[A-Z]{4}/, 'AAAA')
  const requests: Partial<EnrolRequest>[] = [
    { csrPem: '' },
    { csrPem: 'garbage' },
    { csrPem: '-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----\n' },
    { csrPem: broken },
    { name: '' },
    { name: 'Not A Name' },
    { name: 'x'.repeat(300) },
  ]
  for (const request of requests) {
    expect(await enrolmentEnd(scope, { token, ...request })).toBe('INVALID_ARGUMENT')
  }
  expect(await enrolmentEnd(scope, { token, name: fleet.node.name })).toBe('ALREADY_EXISTS')
})

it('an enrolment of 5 MiB is refused as too large', async (scope) => {
  const token = await fleet.controlPlane.createJoinToken()
  const oversized = { token, csrPem: 'x'.repeat(5 << 20) }
  expect(await enrolmentEnd(scope, oversized)).toBe('RESOURCE_EXHAUSTED')
})

it('a node with a wrong token, or one for another CA, says so in one line and ends', async (scope) => {
  const other = `sluice-join.${'A'.repeat(43)}.${'A'.repeat(43)}`
  for (const [index, joinToken] of ['nonsense', other].entries()) {
    const node = await DataPlaneNode.start(scope, {
      controlPlane: fleet.controlPlane.fleetAddress,
      joinToken,
      name: `wrong-${index}`,
      ports: { web: await freePort() },
    })
    const { code } = await node.process.waitForExit(10_000)
    expect(code).toBe(1)
    const output = await node.process.wholeOutput()
    expect(output).toMatch(/token|fingerprint|CA/)
    expect(output).not.toMatch(/\n\s+at /)
    expect(output).not.toContain(joinToken.slice(0, 50))
  }
})

it('garbage in place of TLS, and inside TLS, ends that connection only', async () => {
  const socket = connect(fleet.controlPlane.fleetPort, '127.0.0.1')
  socket.on('error', () => {})
  const closed = once(socket, 'close')
  socket.resume().write('GET / HTTP/1.1\r\nHost: x\r\n\r\n\0\0\0\0')
  await bounded(closed, 10_000, 'the end of the connection')
  await sayInsideTls(fleet.controlPlane, 'this is not HTTP/2\r\n\r\n\0\0\0\0\0\0\0\0\0\0\0\0\0')
})

const STREAMS: readonly StreamName[] = ['FleetService/Configure', 'TelemetryService/Report']
for (const name of STREAMS) {
  it(`${name} without a client certificate, or with one of another CA, is UNAUTHENTICATED`, async (scope) => {
    const { controlPlane } = fleet
    const caPem = await controlPlane.caPem()
    const foreign = await (await TestCa.create('Sluice CA')).issue({
      hosts: [],
      commonName: identity.nodeId,
      uri: `sluice:node:${identity.nodeId}`,
      isForClients: true,
    })
    const forged: Identity = {
      nodeId: identity.nodeId,
      certificatePem: foreign.chainPem,
      privateKeyPem: foreign.privateKeyPem,
      caPem,
    }
    for (const trust of [credentials.createSsl(Buffer.from(caPem)), credentialsOf(forged)]) {
      const stream = rawStream(scope, controlPlane, trust, name)
      stream.write(Buffer.alloc(0))
      expect((await endOf(stream as never)).code).toBe('UNAUTHENTICATED')
    }
  })

  it(`${name}: bytes that are no message end the stream with an error`, async (scope) => {
    for (const bytes of [Buffer.from('ffffffffffffffff', 'hex'), Buffer.from('0aff01', 'hex')]) {
      const stream = rawStream(scope, fleet.controlPlane, credentialsOf(identity), name)
      stream.write(bytes)
      const { code, details } = await endOf(stream as never)
      expect(['INVALID_ARGUMENT', 'INTERNAL']).toContain(code)
      expect(details.length).toBeGreaterThan(0)
    }
  })

  it(`${name}: a message of 5 MiB ends the stream with RESOURCE_EXHAUSTED`, async (scope) => {
    const stream = rawStream(scope, fleet.controlPlane, credentialsOf(identity), name)
    stream.write(Buffer.alloc(5 << 20))
    expect((await endOf(stream as never)).code).toBe('RESOURCE_EXHAUSTED')
  })
}

function hello(fields: { nodeId?: string } = {}): ConfigureRequest {
  const value = {
    nodeId: identity.nodeId,
    bootId: 'by-hand-boot',
    softwareVersion: '0.0.0',
    features: [],
    version: 0n,
    hash: '',
    workers: 1,
    timeMs: BigInt(Date.now()),
    appliedAtMs: 0n,
    uptimeMs: 0n,
    ...fields,
  }
  return { message: { $case: 'hello', value } }
}

const OUT_OF_ORDER: Readonly<Record<string, () => readonly ConfigureRequest[]>> = {
  'an empty message': () => [{ message: undefined } as unknown as ConfigureRequest],
  'Applied before Hello': () => [
    { message: { $case: 'applied', value: { version: 1n, hash: 'x', tookMs: 1 } } },
  ],
  'Hello of another node': () => [hello({ nodeId: 'somebody-else' })],
}
for (const [name, messages] of Object.entries(OUT_OF_ORDER)) {
  it(`configuration stream: ${name} is INVALID_ARGUMENT`, async (scope) => {
    const client = fleetClient(scope, fleet.controlPlane, credentialsOf(identity))
    const stream = client.configure()
    for (const message of messages()) stream.write(message)
    expect((await endOf(stream as never)).code).toBe('INVALID_ARGUMENT')
  })
}

type Row = NonNullable<
  Extract<NonNullable<ReportRequest['message']>, { $case: 'counters' }>['value']['rows'][number]
>
const row = (fields: Partial<Row>): Row => ({
  minuteMs: BigInt(Math.floor(Date.now() / 60_000) * 60_000),
  router: 'forged',
  service: 'forged',
  requests: {
    informational: 0n,
    success: 1n,
    redirection: 0n,
    clientError: 0n,
    serverError: 0n,
    none: 0n,
  },
  bytesIn: 1n,
  bytesOut: 1n,
  latency: { indexDeltas: [1], counts: [1n], sumUs: 1n },
  breakdown: undefined,
  firstByte: undefined,
  retries: 0n,
  ...fields,
})
const counters = (rows: Row[], fields: { bootId?: string; sequence?: bigint } = {}) => ({
  message: {
    $case: 'counters' as const,
    value: { bootId: 'forged-boot', sequence: 1n, rows, ...fields },
  },
})

const BAD_REPORTS: Readonly<Record<string, () => ReportRequest>> = {
  'an empty message': () => ({ message: undefined }) as unknown as ReportRequest,
  'no boot id': () => counters([row({})], { bootId: '' }),
  'sequence 0': () => counters([row({})], { sequence: 0n }),
  'a minute that is not whole': () => counters([row({ minuteMs: 12_345n })]),
  'a histogram with more buckets than counts': () =>
    counters([row({ latency: { indexDeltas: [1, 1], counts: [1n], sumUs: 1n } })]),
  'a bucket far outside': () =>
    counters([row({ latency: { indexDeltas: [4_000_000_000], counts: [1n], sumUs: 1n } })]),
}
for (const [name, report] of Object.entries(BAD_REPORTS)) {
  it(`telemetry stream: ${name} is INVALID_ARGUMENT and counts nothing`, async (scope) => {
    const client = telemetryClient(scope, fleet.controlPlane, credentialsOf(identity))
    const stream = client.report()
    stream.write(report())
    expect((await endOf(stream as never)).code).toBe('INVALID_ARGUMENT')
  })
}

it('a second node with the certificate of one that is connected gets ALREADY_EXISTS, and the first stays', async (scope) => {
  const { node, controlPlane } = fleet
  const bootId = (await fleet.nodeView()).bootId
  const copy = join(await scope.temporaryDirectory(), 'copy')
  await cp(node.dataDirectory, copy, { recursive: true })
  const twin = await DataPlaneNode.start(scope, {
    controlPlane: controlPlane.fleetAddress,
    name: node.name,
    dataDirectory: copy,
    ports: { web: await freePort() },
  })
  await twin.process.waitForOutput(/ALREADY_EXISTS|already (?:connected|exists)/i, 15_000)
  expect(await fleet.nodeView()).toMatchObject({ isConnected: true, bootId, state: 'in-sync' })
  expect(await node.status()).toMatchObject({ controlPlane: 'connected' })
})

it('a node that the control plane does not know is UNAUTHENTICATED', async (scope) => {
  const { controlPlane } = await startFleet(scope, { nodes: 0 })
  const earlier = join(await scope.temporaryDirectory(), 'earlier')
  await controlPlane.stop()
  await cp(controlPlane.dataDirectory, earlier, { recursive: true })
  await controlPlane.startAgain()
  const forgotten = await enrolIdentity(scope, controlPlane, 'forgotten')
  await controlPlane.stop()
  await cp(earlier, controlPlane.dataDirectory, { recursive: true })
  await controlPlane.startAgain()
  const stream = fleetClient(scope, controlPlane, credentialsOf(forgotten)).configure()
  stream.write(hello({ nodeId: forgotten.nodeId }))
  expect((await endOf(stream as never)).code).toBe('UNAUTHENTICATED')
})

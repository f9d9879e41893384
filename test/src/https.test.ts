/** HTTPS on a node: which certificate a client is shown, what refuses it, and that bodies survive TLS. */
import { once } from 'node:events'
import { connect, type TLSSocket } from 'node:tls'
import { expect } from 'vitest'
import { claims } from './harness/claims.ts'
import { bounded, eventually } from './harness/eventually.ts'
import { entryPoint, type Fleet, router, service, startFleet } from './harness/fleet.ts'
import { valuesOf } from './harness/http-text.ts'
import { startLoad } from './harness/load/start-load.ts'
import { ScriptedOrigin } from './harness/origins/scripted-origin.ts'
import { startEchoOrigin } from './harness/origins/start-echo-origin.ts'
import { get, RawClient } from './harness/raw-client.ts'
import type { Scope } from './harness/scope.ts'
import { TestCa } from './harness/test-ca.ts'

const { it, suite, before } = claims()
let fleet: Fleet
let port: number
let ca: TestCa
let origin: ScriptedOrigin
let internalCa: string

before(async () => {
  ca = await TestCa.create()
  const https = { protocol: 'https' }
  const resources = [entryPoint('websecure', https), entryPoint('fallback', https)]
  fleet = await startFleet(suite, { resources: [entryPoint('web'), ...resources] })
  port = fleet.node.port('websecure')
  origin = await ScriptedOrigin.start(suite)
  internalCa = await fleet.controlPlane.caPem()
  await fleet.publish(
    { kind: 'certificate', name: 'internal', source: 'internal', hosts: ['demo.localhost'] },
    { kind: 'certificate', name: 'exact', source: 'uploaded', ...(await issue('a.test')) },
    { kind: 'certificate', name: 'wild', source: 'uploaded', ...(await issue('*.a.test')) },
    { kind: 'certificate', name: 'deep', source: 'uploaded', ...(await issue('x.a.test')) },
    service('origin', [origin.port]),
    { kind: 'router', name: 'all', match: {}, service: 'origin' },
  )
})

function issue(host: string): Promise<{ chainPem: string; privateKeyPem: string }> {
  return ca.issue({ hosts: [host] })
}

/** The common name that the node shows to a client that asks for `servername`, verified against `pem`. */
async function shownTo(scope: Scope, servername: string, pem: string, at = port): Promise<string> {
  const client = await RawClient.open(scope, at, { tls: { servername, ca: pem } })
  const { subject } = (client.socket as TLSSocket).getPeerCertificate()
  return String(subject.CN)
}

it('a certificate of the internal CA is accepted by a client that trusts ca.pem, and the request is served', async (scope) => {
  const tls = { servername: 'demo.localhost', ca: internalCa }
  const client = await RawClient.open(scope, port, { tls })
  const answer = await client.send(get('demo.localhost', '/over-tls')).answer()
  expect(answer.body.toString()).toBe('/over-tls')
  const [seen] = origin.requests.slice(-1)
  expect(valuesOf(seen!, 'x-forwarded-proto')).toEqual(['https'])
})

it('each server name gets its certificate: exact before wildcard, in any case', async (scope) => {
  expect(await shownTo(scope, 'a.test', ca.pem)).toBe('a.test')
  expect(await shownTo(scope, 'x.a.test', ca.pem)).toBe('x.a.test')
  expect(await shownTo(scope, 'y.a.test', ca.pem)).toBe('*.a.test')
  expect(await shownTo(scope, 'A.Test', ca.pem)).toBe('a.test')
})

const UNKNOWN = { 'an unknown name': 'other.test', 'a name below a wildcard': 'y.x.a.test' }
for (const [name, servername] of Object.entries(UNKNOWN)) {
  it(`${name} is refused with the alert for unrecognised names`, async () => {
    expect(await refusalOf(servername)).toMatch(/unrecognized.name/i)
  })
}

it('a client that names no server is refused with an alert', async () => {
  expect(await refusalOf(undefined)).toMatch(/alert handshake failure|unrecognized.name/i)
})

/** The error of a handshake. */
async function refusalOf(servername: string | undefined): Promise<string> {
  const name = servername === undefined ? {} : { servername }
  const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false, ...name })
  const failed = once(socket, 'secureConnect').then(
    () => 'connected',
    (error: NodeJS.ErrnoException) => `${error.code} ${error.message}`,
  )
  const refusal = await bounded(failed, 5_000, 'the end of the handshake')
  socket.destroy()
  return refusal
}

it('an entry point with a default certificate shows it for unknown names', async (scope) => {
  const fallback = entryPoint('fallback', { protocol: 'https', defaultCertificate: 'exact' })
  await fleet.publish(fallback)
  const tls = { servername: 'other.test', rejectUnauthorized: false }
  const client = await RawClient.open(scope, fleet.node.port('fallback'), { tls })
  const { subject } = (client.socket as TLSSocket).getPeerCertificate()
  expect(subject.CN).toBe('a.test')
  expect(await shownTo(scope, 'x.a.test', ca.pem, fleet.node.port('fallback'))).toBe('x.a.test')
})

it('a replaced certificate is shown to new connections while an old one goes on', async (scope) => {
  const first = await issue('turn.test')
  const body = { name: 'turn', source: 'uploaded' }
  await fleet.publish({ kind: 'certificate', ...body, ...first })
  const tls = { servername: 'turn.test', ca: ca.pem }
  const old = await RawClient.open(scope, port, { tls })
  const before = (old.socket as TLSSocket).getPeerCertificate().fingerprint256
  await fleet.publish({ kind: 'certificate', ...body, ...(await issue('turn.test')) })
  const fresh = await RawClient.open(scope, port, { tls })
  expect((fresh.socket as TLSSocket).getPeerCertificate().fingerprint256).not.toBe(before)
  expect((await old.send(get('turn.test', '/old')).answer()).body.toString()).toBe('/old')
})

it('a wrong key, an expired certificate and a key in answers: refused, warned of, never there', async () => {
  const one = await issue('one.test')
  const other = await issue('other.test')
  const mixed = { name: 'mixed', source: 'uploaded', ...one, privateKeyPem: other.privateKeyPem }
  const refused = await fleet.api.call('POST', '/api/v1/certificates', { body: mixed })
  expect(refused.status).toBe(422)
  expect(refused.text).toContain('privateKeyPem')
  const notAfter = new Date(Date.now() - 60_000)
  const expired = await ca.issue({ hosts: ['expired.test'], notAfter })
  const body = { name: 'expired', source: 'uploaded', ...expired }
  const warned = await fleet.api.post<{ warnings: unknown[] }>('/api/v1/certificates', body)
  expect(warned.warnings).toHaveLength(1)
  const list = await fleet.api.call('GET', '/api/v1/certificates')
  expect(list.text).not.toContain('PRIVATE KEY')
  await fleet.api.delete('/api/v1/certificates/expired')
  await fleet.untilInSync()
})

it('mixed downloads and uploads of up to 8 MB over TLS keep every byte', async (scope) => {
  const echo = await startEchoOrigin(scope)
  await fleet.publish(
    { kind: 'certificate', name: 'bulk', source: 'uploaded', ...(await issue('bulk.test')) },
    service('bulk', [echo]),
    router('bulk', 'bulk.test', 'bulk', { priority: 1 }),
  )
  const plan = { port, host: 'bulk.test', connections: 16, work: 'mixed', ca: ca.pem } as const
  const load = startLoad(scope, plan)
  await eventually(() => load.sent >= 96 * 3, { withinMs: 40_000, that: 'the whole mix sent' })
  const result = await load.stop(20_000)
  expect(result.failures).toEqual([])
  expect(result).toMatchObject({ failed: 0, succeeded: result.sent })
})

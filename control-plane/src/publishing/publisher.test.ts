import { createHash, randomBytes } from 'node:crypto'
import { Resource } from '@sluice/proto'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { CertificateAuthority } from '../certificates/authority.ts'
import { toDocument } from '../model/documents.ts'
import type { Kind } from '../model/kinds.ts'
import type { Refusal } from '../model/refusal.ts'
import { type Database, openDatabase } from '../store/database.ts'
import { Vault, VaultError } from '../store/vault.ts'
import type { Change } from './changes.ts'
import type { PublishedVersion } from './published-version.ts'
import { Publisher } from './publisher.ts'

const dayMs = 86_400_000
const masterKey = randomBytes(32)
let db: Database
let publisher: Publisher
let nowMs: number

beforeEach(async () => {
  nowMs = Date.parse('2026-06-01T00:00:00Z')
  db = await openDatabase(':memory:')
  publisher = await open()
})

afterEach(() => db.destroy())

async function open(key = masterKey): Promise<Publisher> {
  const options = { db, vault: new Vault(key), now: () => nowMs }
  // The CA's own key is not what these tests are about.
  const authority = await CertificateAuthority.open({ ...options, vault: new Vault(masterKey) })
  return Publisher.open({ ...options, authority })
}

const put = (kind: Kind, spec: object): Change => ({ op: 'put', document: toDocument(kind, spec) })
const remove = (kind: Kind, name: string): Change => ({ op: 'remove', kind, name })
const service = (url = 'http://h:1') => put('service', { name: 's', servers: [{ url }] })
const router = (name = 'r') => put('router', { name, service: 's', match: { methods: ['get'] } })
const site = (hosts = ['a.localhost']) =>
  put('certificate', { name: 'c', source: 'internal', hosts })
const publish = (...changes: Change[]) => publisher.publish({ author: 'a', message: 'm', changes })

function current(): PublishedVersion {
  const version = publisher.current()
  if (version === undefined) throw new Error('nothing is published')
  return version
}

function encoded(version: PublishedVersion): Uint8Array[] {
  return Array.from(version.viewFor({}).entries.values(), ({ encoded: bytes }) => bytes)
}

function decoded() {
  return encoded(current()).map((bytes) => Resource.decode(bytes).resource)
}

it('has no version before the first write', () => {
  expect(publisher.current()).toBeUndefined()
})

it('encodes every kind with all defaults, the key of a certificate in the clear, and settings', async () => {
  const secure = {
    name: 'e',
    address: ':443',
    protocol: 'https',
    defaultCertificate: 'c',
    trustedPeers: ['10.0.0.0/8'],
    proxyProtocolPeers: ['10.1.0.0/16'],
  }
  await publish(service(), router(), site(), put('entry-point', secure))
  expect(decoded()).toEqual([
    {
      $case: 'service',
      value: {
        name: 's',
        servers: [{ url: 'http://h:1', weight: 1, drain: false }],
        timeouts: { connectMs: 5_000, firstByteMs: 60_000, idleMs: 60_000, queueMs: 5_000 },
        idleConnectionsMax: 1_024,
        connectionsMax: 0,
        queueMax: 1_024,
        connectionAgeMaxMs: 3_600_000,
        passHost: true,
        proxyProtocol: 0,
        slowStartMs: 0,
      },
    },
    {
      $case: 'router',
      value: {
        name: 'r',
        entryPoints: [],
        match: { hosts: [], pathPrefixes: [], pathRegexes: [], methods: ['GET'], clientRanges: [] },
        priority: 0,
        service: 's',
        nodes: {},
        drain: false,
      },
    },
    {
      $case: 'certificate',
      value: {
        name: 'c',
        hosts: ['a.localhost'],
        chainPem: expect.stringMatching(/^-----BEGIN CERTIFICATE-----/),
        privateKeyPem: expect.stringMatching(/^-----BEGIN PRIVATE KEY-----/),
      },
    },
    {
      $case: 'entryPoint',
      value: {
        name: 'e',
        address: ':443',
        protocol: 2,
        trustedPeers: ['10.0.0.0/8'],
        proxyProtocolPeers: ['10.1.0.0/16'],
        defaultCertificate: 'c',
      },
    },
    { $case: 'settings', value: { logs: { perSecondPerNode: 10 } } },
  ])
})

it('hashes the sorted digests of the encoded resources', async () => {
  await publish(service(), ...Array.from({ length: 50 }, (_, index) => router(`r${index}`)))
  const { hash } = current()
  const digests = encoded(current())
    .map((bytes) => createHash('sha256').update(bytes).digest())
    .toSorted(Buffer.compare)
  expect(hash).toBe(createHash('sha256').update(Buffer.concat(digests)).digest('hex'))
})

it('calls listeners after the version is stored, until they unsubscribe', async () => {
  const seen: bigint[] = []
  const stop = publisher.onPublished(({ number }) => seen.push(number))
  await publish(service())
  await publish(service())
  await publish(service('http://h:2'))
  stop()
  await publish(service('http://h:3'))
  expect(seen).toEqual([1n, 2n])
})

it('goes on after a restart with the same number, hash and encoded resources', async () => {
  await publish(service(), router(), site())
  const before = current()
  publisher = await open()
  const sorted = (version: PublishedVersion) => encoded(version).toSorted(Buffer.compare)
  expect(sorted(current())).toEqual(sorted(before))
  expect(current()).toMatchObject({ number: 1n, hash: before.hash })
})

it('does not open under another master key', async () => {
  await publish(site())
  await expect(open(randomBytes(32))).rejects.toThrow(VaultError)
})

it('stores nothing and tells nobody when the transaction fails, and goes on afterwards', async () => {
  await publish(service())
  const before = current()
  let told = 0
  publisher.onPublished(() => {
    told += 1
  })
  // A row that is current already makes the last statement of the transaction fail.
  const stray = { kind: 'router', name: 'r', since_version: 1 }
  const row = {
    revision: 1,
    body: '{}',
    digest: randomBytes(32),
    created_at_ms: 0,
    updated_at_ms: 0,
  }
  await db
    .insertInto('resource')
    .values({ ...stray, ...row })
    .execute()
  await expect(publish(service('http://h:2'), router())).rejects.toThrow('UNIQUE')
  expect([publisher.current(), told]).toEqual([before, 0])
  await db.deleteFrom('resource').where('name', '=', 'r').execute()
  expect((await publish(service('http://h:2'), router())).version).toBe(2)
  publisher = await open()
  expect(current().number).toBe(2n)
})

it('writes only rows of what changed', async () => {
  await publish(service(), ...Array.from({ length: 100 }, (_, index) => router(`r${index}`)))
  const count = () =>
    db
      .selectFrom('resource')
      .select((is) => is.fn.countAll<number>().as('rows'))
      .executeTakeFirstOrThrow()
  const before = await count()
  await publish(service('http://h:2'), remove('router', 'r7'))
  expect((await count()).rows).toBe(before.rows + 1)
})

it('marks a version without routers as intended only when there were some', async () => {
  await publish(service())
  expect(current().viewFor({}).isEmptyOnPurpose).toBe(false)
  await publish(router())
  expect(current().viewFor({}).isEmptyOnPurpose).toBe(false)
  await publish(remove('router', 'r'))
  expect(current().viewFor({}).isEmptyOnPurpose).toBe(true)
  await publish(service('http://h:2'))
  publisher = await open()
  expect(current().viewFor({}).isEmptyOnPurpose).toBe(true)
})

it('publishes what is stored as a new version when this release encodes it differently', async () => {
  await publish(service(), router())
  const { hash } = current()
  await db
    .updateTable('version')
    .set({ hash: 'f'.repeat(64) })
    .execute()
  publisher = await open()
  expect(current()).toMatchObject({ number: 2n, hash })
  publisher = await open()
  expect(current().number).toBe(2n)
})

it('renews internal certificates at two thirds of their life, and on a write', async () => {
  await publish(site())
  const fingerprint = () => publisher.state.configuration.certificates.get('c')?.fingerprint
  const first = fingerprint()
  nowMs += 59 * dayMs
  expect(await publisher.renewInternalCertificates()).toEqual([])
  expect((await publish(site())).changes).toMatchObject([{ change: 'unchanged' }])
  nowMs += 2 * dayMs
  expect(await publisher.renewInternalCertificates()).toEqual(['c'])
  const second = fingerprint()
  expect(second).not.toBe(first)
  nowMs += 61 * dayMs
  expect((await publish(site())).changes).toMatchObject([{ change: 'replaced' }])
  expect(fingerprint()).not.toBe(second)
})

it('refuses with every problem and keeps the version', async () => {
  const refusal = await publish(
    router(),
    put('service', { name: 'x', servers: [{ url: 'h' }] }),
  ).catch((error: Refusal) => error)
  expect(refusal).toMatchObject({
    code: 'invalid',
    problems: [
      { kind: 'service', name: 'x', field: 'servers[0].url' },
      { kind: 'router', name: 'r', field: 'service' },
    ],
  })
  expect(publisher.current()).toBeUndefined()
})

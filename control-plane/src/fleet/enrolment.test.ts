import { X509Certificate } from 'node:crypto'
import { status } from '@grpc/grpc-js'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { makeCsr } from '../certificates/testing/make-csr.ts'
import { TestFleet } from './testing/test-fleet.ts'
import { enrol } from './testing/test-node.ts'

let fleet: TestFleet

beforeEach(async () => {
  fleet = await TestFleet.start()
})

afterEach(() => fleet.remove())

it('gives a node an id, a certificate for it, and the CA', async () => {
  const { csrPem } = await makeCsr()
  const answer = await enrol(fleet, { token: await fleet.token(), csrPem, name: 'edge-1' })
  expect(answer).toEqual({
    nodeId: expect.stringMatching(/^n-[0-9a-f]{20}$/),
    certificatePem: expect.any(String),
    caChainPem: fleet.authority.caPem,
  })
  const { nodeId, certificatePem } = answer as { nodeId: string; certificatePem: string }
  expect(new X509Certificate(certificatePem).subject).toBe(`CN=${nodeId}`)
  expect(await fleet.node('edge-1')).toMatchObject({
    id: nodeId,
    state: 'lost',
    isConnected: false,
    connectedAt: null,
    version: 0,
  })
})

it('a node that joined, and no attempt that was refused, is in the audit log', async () => {
  const { token, id } = await fleet.tokens.create({ uses: 1 })
  await enrol(fleet, { token, csrPem: (await makeCsr()).csrPem, name: 'edge-1' })
  await enrol(fleet, { token, csrPem: (await makeCsr()).csrPem, name: 'edge-2' })
  expect(await fleet.db.selectFrom('audit').selectAll().execute()).toMatchObject([
    {
      who: `join-token:${id}`,
      via: 'join-token',
      address: expect.stringContaining('127.0.0.1'),
      action: 'join',
      object: 'edge-1',
      result: 'done',
    },
  ])
})

it('lets the labels of the token win over what the machine says of itself', async () => {
  const { token } = await fleet.tokens.create({ labels: { region: 'eu', zone: 'a' } })
  const labels = { region: 'us', disk: 'ssd' }
  await enrol(fleet, { token, csrPem: (await makeCsr()).csrPem, name: 'edge-1', labels })
  expect((await fleet.node('edge-1')).labels).toEqual({ region: 'eu', zone: 'a', disk: 'ssd' })
})

it('enrols as many nodes as the token has uses, also at once', async () => {
  const { token, id } = await fleet.tokens.create({ uses: 2 })
  const answers = await Promise.all(
    ['a', 'b', 'c', 'd'].map(async (name) =>
      enrol(fleet, { token, csrPem: (await makeCsr()).csrPem, name }),
    ),
  )
  const refused = answers.filter((answer) => Array.isArray(answer))
  expect(refused).toEqual([
    [status.UNAUTHENTICATED, 'the join token is used up'],
    [status.UNAUTHENTICATED, 'the join token is used up'],
  ])
  expect(await fleet.registry.list()).toHaveLength(2)
  expect(await fleet.tokens.list()).toMatchObject([{ id, uses: 2, usesLeft: 0 }])
})

it('keeps the use of a token when the name is taken', async () => {
  const { token } = await fleet.tokens.create({ uses: 2 })
  await enrol(fleet, { token, csrPem: (await makeCsr()).csrPem, name: 'edge-1' })
  const answer = await enrol(fleet, { token, csrPem: (await makeCsr()).csrPem, name: 'edge-1' })
  expect(answer).toEqual([
    status.ALREADY_EXISTS,
    'a node named "edge-1" exists; choose another name or revoke that node',
  ])
  expect(await fleet.tokens.list()).toMatchObject([{ usesLeft: 1 }])
})

it('frees the name of a revoked node', async () => {
  const { token } = await fleet.tokens.create({ uses: 2 })
  await enrol(fleet, { token, csrPem: (await makeCsr()).csrPem, name: 'edge-1' })
  const first = await fleet.node('edge-1')
  await fleet.registry.revoke('edge-1')
  await enrol(fleet, { token, csrPem: (await makeCsr()).csrPem, name: 'edge-1' })
  expect((await fleet.node('edge-1')).id).not.toBe(first.id)
  expect((await fleet.node(first.id)).state).toBe('revoked')
})

it('lets a node whose certificate has expired join again under its name, with its id and labels', async () => {
  const pinned = await fleet.tokens.create({ labels: { region: 'eu' } })
  const first = { csrPem: (await makeCsr()).csrPem, name: 'edge-1', labels: { disk: 'ssd' } }
  await enrol(fleet, { ...first, token: pinned.token })
  const before = await fleet.node('edge-1')
  fleet.clockOffsetMs = 31 * 86_400_000
  expect(await fleet.node('edge-1')).toMatchObject({ state: 'lost', isCertificateExpired: true })
  const { token } = await fleet.tokens.create({ uses: 2, labels: { rack: '7' } })
  const again = { token, csrPem: (await makeCsr()).csrPem, name: 'edge-1' }
  const answer = await enrol(fleet, { ...again, labels: { region: 'us', disk: 'hdd' } })
  expect(answer).toMatchObject({ nodeId: before.id })
  expect(await fleet.registry.list()).toMatchObject([
    {
      id: before.id,
      labels: { region: 'eu', disk: 'ssd', rack: '7' },
      isCertificateExpired: false,
      enrolledAt: before.enrolledAt,
    },
  ])
  expect(await enrol(fleet, again)).toMatchObject([status.ALREADY_EXISTS, expect.any(String)])
})

it('says that a token expired, to whoever holds it', async () => {
  const { token, expiresAt } = await fleet.tokens.create({ expiresInSeconds: 60 })
  fleet.clockOffsetMs = 61_000
  const answer = await enrol(fleet, { token, csrPem: (await makeCsr()).csrPem, name: 'edge-1' })
  expect(answer).toEqual([status.UNAUTHENTICATED, `the join token expired at ${expiresAt}`])
})

const malformed = 'the join token is malformed: it must be sluice-join.SECRET.FINGERPRINT'

it.each([
  ['nothing', () => '', malformed],
  ['garbage', () => 'sluice-join.x.y', malformed],
  ['a token too long', () => 'x'.repeat(5_000), malformed],
  [
    'a made-up secret',
    (token: string) => token.replace(/\.[^.]+\./, `.${'A'.repeat(43)}.`),
    'the join token is unknown or was removed',
  ],
  [
    'the token of another control plane',
    (token: string) => token.replace(/\.[^.]+$/, `.${'A'.repeat(43)}`),
    'the join token belongs to another control plane',
  ],
])('refuses %s as token before it looks at anything else', async (_name, spoil, reason) => {
  const token = spoil(await fleet.token())
  expect(await enrol(fleet, { token, csrPem: 'garbage', name: '' })).toEqual([
    status.UNAUTHENTICATED,
    reason,
  ])
  expect(await fleet.registry.list()).toEqual([])
  expect(await fleet.tokens.list()).toMatchObject([{ usesLeft: 1 }])
})

it('refuses a token that was removed', async () => {
  const { token, id } = await fleet.tokens.create({})
  expect(await fleet.tokens.remove(id)).toBe(true)
  expect(await fleet.tokens.remove(id)).toBe(false)
  expect(await enrol(fleet, { token, name: 'edge-1' })).toEqual([
    status.UNAUTHENTICATED,
    'the join token is unknown or was removed',
  ])
})

it.each([
  ['an empty name', { name: '' }, /^name: /],
  ['a name with a space', { name: 'edge 1' }, /^name: /],
  ['a name too long', { name: 'x'.repeat(64) }, /^name: /],
  ['a name that looks like an id', { name: `n-${'0'.repeat(20)}` }, /^name: looks like the id/],
  ['a bad label', { labels: { 'a b': 'c' } }, /^labels: has the key "a b"/],
  ['a label value too long', { labels: { a: 'x'.repeat(256) } }, /^labels: has a value for "a"/],
  [
    'too many labels',
    { labels: Object.fromEntries(Array.from({ length: 33 }, (_, at) => [`l${at}`, ''])) },
    /^labels: has 33 entries/,
  ],
  ['a CSR that is garbage', { csrPem: 'garbage' }, /^csr_pem: the CSR is not a PEM block/],
  ['a CSR too long', { csrPem: 'x'.repeat(100_000) }, /^csr_pem: the CSR is longer/],
])('refuses %s and changes nothing', async (_name, change, reason) => {
  const token = await fleet.token()
  const { csrPem } = await makeCsr()
  const answer = await enrol(fleet, { token, csrPem, name: 'edge-1', ...change })
  expect(answer).toEqual([status.INVALID_ARGUMENT, expect.stringMatching(reason)])
  expect(await fleet.registry.list()).toEqual([])
  expect(await fleet.tokens.list()).toMatchObject([{ usesLeft: 1 }])
})

it('refuses an oversized request', async () => {
  const answer = await enrol(fleet, { token: 'x'.repeat(5 * 1_048_576) })
  expect(answer).toEqual([status.RESOURCE_EXHAUSTED, expect.stringContaining('larger than max')])
})

it('never stores the token, and tells it only once', async () => {
  const { token } = await fleet.tokens.create({})
  const [stored] = await fleet.db.selectFrom('join_token').selectAll().execute()
  const [, secret = ''] = token.split('.')
  expect(JSON.stringify(stored)).not.toContain(secret)
  expect(Buffer.from(stored!.secret_hash).equals(Buffer.from(secret, 'base64url'))).toBe(false)
  expect(Object.keys((await fleet.tokens.list())[0]!)).not.toContain('token')
})

it.each([
  ['labels', { labels: { 'a b': 'c' } }],
  ['expiresInSeconds', { expiresInSeconds: 0 }],
  ['expiresInSeconds', { expiresInSeconds: 31 * 86_400 }],
  ['uses', { uses: 1.5 }],
  ['uses', { uses: 1_001 }],
])('refuses to make a token with bad %s', async (field, request) => {
  await expect(fleet.tokens.create(request)).rejects.toMatchObject({ field })
  expect(await fleet.tokens.list()).toEqual([])
})

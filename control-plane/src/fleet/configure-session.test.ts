import { status } from '@grpc/grpc-js'
import type { ConfigureRequest } from '@sluice/proto'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { makeCsr } from '../certificates/testing/make-csr.ts'
import { hashOf, TestFleet } from './testing/test-fleet.ts'
import { apply, connectWithoutReading, nextUpdate, TestNode } from './testing/test-node.ts'

let fleet: TestFleet
let node: TestNode

beforeEach(async () => {
  fleet = await TestFleet.start()
  node = await TestNode.enrolled(fleet, 'edge-1')
})

afterEach(async () => {
  node.close()
  await fleet.remove()
})

async function untilNode(expected: object): Promise<void> {
  await vi.waitFor(async () => expect(await fleet.node('edge-1')).toMatchObject(expected), 3_000)
}

describe('hello', () => {
  it('shows the node as connected, with what it said of itself', async () => {
    fleet.versions.publish(3n)
    const appliedAtMs = Date.parse('2026-01-02T03:04:05Z')
    await node.connected({
      version: 3n,
      hash: hashOf(3n),
      features: ['delta'],
      workers: 2,
      appliedAtMs: BigInt(appliedAtMs),
    })
    expect(await fleet.node('edge-1')).toMatchObject({
      state: 'in-sync',
      isConnected: true,
      connectedAt: expect.any(String),
      version: 3,
      hash: hashOf(3n),
      appliedAt: '2026-01-02T03:04:05.000Z',
      features: ['delta'],
      workers: 2,
      bootId: 'boot-1',
      softwareVersion: '1',
      address: expect.stringMatching(/^127\.0\.0\.1:\d+$/),
      rejected: null,
    })
  })

  const other: [string, ConfigureRequest['message']][] = [
    ['applied', { $case: 'applied', value: { version: 1n, hash: hashOf(1n), tookMs: 1 } }],
    ['rejected', { $case: 'rejected', value: { version: 1n, hash: hashOf(1n), problems: [] } }],
    ['renewal', { $case: 'renewal', value: { csrPem: '' } }],
    ['pong', { $case: 'pong', value: { id: 1n, timeMs: 0n } }],
    ['full', { $case: 'full', value: {} }],
  ]

  it.each(other)('must come before %s', async (name, message) => {
    const stream = node.configure()
    stream.send(message)
    expect(await stream.ended).toEqual([
      status.INVALID_ARGUMENT,
      expect.stringContaining(`${name} came before hello`),
    ])
    expect((await fleet.node('edge-1')).isConnected).toBe(false)
  })

  it('must not come twice', async () => {
    const stream = await node.connected()
    stream.send({ $case: 'hello', value: node.hello() })
    expect(await stream.ended).toEqual([status.INVALID_ARGUMENT, 'hello came a second time'])
  })

  it.each([
    ['the id of another node', { nodeId: `n-${'0'.repeat(20)}` }, /^hello\.node_id/],
    ['no boot id', { bootId: '' }, /^hello\.boot_id/],
    ['a boot id too long', { bootId: 'x'.repeat(65) }, /^hello\.boot_id/],
    ['a software version with a line break', { softwareVersion: '1\n2' }, /^hello\.software/],
    ['too many features', { features: Array(65).fill('a') }, /^hello\.features/],
    ['a version without a hash', { version: 1n }, /^hello\.hash/],
    ['a hash without a version', { hash: hashOf(1n) }, /^hello\.hash/],
    ['a version out of range', { version: 2n ** 63n, hash: hashOf(1n) }, /^hello\.version/],
    ['a time out of range', { appliedAtMs: 2n ** 63n }, /^hello\.applied_at_ms/],
    ['too many workers', { workers: 1_025 }, /^hello\.workers/],
  ])('is refused with %s', async (_name, hello, reason) => {
    const stream = node.connect(hello)
    expect(await stream.ended).toEqual([status.INVALID_ARGUMENT, expect.stringMatching(reason)])
    expect((await fleet.node('edge-1')).isConnected).toBe(false)
  })
})

describe('the clock of a node', () => {
  it('is compared at hello, and no more shown once the node is gone', async () => {
    const timeMs = BigInt(Date.now() + 90_000)
    const stream = await node.connected({ timeMs, uptimeMs: 3_600_000n })
    const { clockOffsetMs, uptimeSeconds } = await fleet.node('edge-1')
    expect(clockOffsetMs).toBeGreaterThan(80_000)
    expect(clockOffsetMs).toBeLessThanOrEqual(90_000)
    expect(uptimeSeconds).toBeGreaterThanOrEqual(3_600)
    stream.call.end()
    await stream.ended
    await untilNode({ isConnected: false, clockOffsetMs: null, uptimeSeconds: null })
  })
})

describe('versions', () => {
  it('sends the newest version to a node that has another one, and each later one', async () => {
    fleet.versions.publish(1n)
    fleet.versions.publish(2n, [new Uint8Array([1, 2, 3]), new Uint8Array([4])])
    const stream = node.connect()
    expect(await nextUpdate(stream)).toEqual({
      version: 2n,
      hash: hashOf(2n),
      baseVersion: 0n,
      baseHash: '',
      content: {
        $case: 'full',
        value: { resources: [Buffer.from([1, 2, 3]), Buffer.from([4])], emptyOnPurpose: true },
      },
    })
    stream.send({ $case: 'applied', value: { version: 2n, hash: hashOf(2n), tookMs: 5 } })
    fleet.versions.publish(3n)
    expect(await apply(stream)).toBe(3n)
  })

  it('sends nothing to a node that runs the newest version', async () => {
    fleet.versions.publish(2n)
    const stream = await node.connected({ version: 2n, hash: hashOf(2n) })
    fleet.versions.publish(3n)
    expect((await nextUpdate(stream)).version).toBe(3n)
    expect(stream.unread).toBe(0)
  })

  it('skips what a newer version overtakes while the node works', async () => {
    fleet.versions.publish(1n)
    const stream = node.connect()
    const first = await nextUpdate(stream)
    for (let number = 2n; number <= 20n; number += 1n) {
      fleet.versions.publish(number)
    }
    stream.send({ $case: 'applied', value: { version: 1n, hash: first.hash, tookMs: 1 } })
    expect(await apply(stream)).toBe(20n)
    expect(stream.unread).toBe(0)
  })

  it('records what was applied within a second, over a restart too', async () => {
    fleet.versions.publish(1n)
    const stream = node.connect()
    await nextUpdate(stream)
    expect((await fleet.node('edge-1')).state).toBe('updating')
    const sentAtMs = Date.now()
    stream.send({ $case: 'applied', value: { version: 1n, hash: hashOf(1n), tookMs: 12 } })
    await untilNode({ state: 'in-sync', version: 1, hash: hashOf(1n), tookMs: 12 })
    expect(Date.now() - sentAtMs).toBeLessThan(1_000)
    await fleet.restart()
    expect(await fleet.node('edge-1')).toMatchObject({
      state: 'lost',
      isConnected: false,
      version: 1,
      appliedAt: expect.any(String),
      lastSeenAt: expect.any(String),
    })
  })

  it('shows a rejection and does not send that version again, over a reconnect too', async () => {
    fleet.versions.publish(1n)
    const first = node.connect()
    await nextUpdate(first)
    const object = { kind: 2, name: 'shop' } as const
    const problems = [{ object, field: 'match.hosts[0]', reason: 'is no host' }]
    first.send({ $case: 'rejected', value: { version: 1n, hash: hashOf(1n), problems } })
    const shown = [{ kind: 'router', name: 'shop', field: 'match.hosts[0]', reason: 'is no host' }]
    await untilNode({ state: 'rejected', version: 0, rejected: { version: 1, problems: shown } })
    first.call.end()
    await first.ended

    const second = await node.connected()
    expect(await fleet.node('edge-1')).toMatchObject({ state: 'rejected' })
    fleet.versions.publish(2n)
    expect(await apply(second)).toBe(2n)
    expect(second.unread).toBe(0)
    await untilNode({ state: 'in-sync', version: 2, rejected: null })
  })

  it('tries a rejected version once more with a new process of the node', async () => {
    fleet.versions.publish(1n)
    const first = node.connect()
    await nextUpdate(first)
    first.send({ $case: 'rejected', value: { version: 1n, hash: hashOf(1n), problems: [] } })
    await untilNode({ state: 'rejected' })
    first.call.end()
    await first.ended
    const second = node.connect({ bootId: 'boot-2' })
    expect(await apply(second)).toBe(1n)
    await untilNode({ state: 'in-sync', rejected: null })
  })

  it('sends a node that takes deltas what changed since the version that it applied', async () => {
    fleet.versions.publish(1n, [new Uint8Array([1]), new Uint8Array([2])])
    const stream = node.connect({ features: ['delta'] })
    expect(await nextUpdate(stream)).toMatchObject({ content: { $case: 'full' } })
    stream.send({ $case: 'applied', value: { version: 1n, hash: hashOf(1n), tookMs: 1 } })
    fleet.versions.publish(2n, [new Uint8Array([1]), new Uint8Array([3])])
    expect(await nextUpdate(stream)).toMatchObject({
      baseVersion: 1n,
      baseHash: hashOf(1n),
      content: { $case: 'delta', value: { resources: [Buffer.from([3])], removed: [] } },
    })
    stream.send({ $case: 'full', value: {} })
    expect(await nextUpdate(stream)).toMatchObject({
      version: 2n,
      baseVersion: 0n,
      content: { $case: 'full', value: { resources: [Buffer.from([1]), Buffer.from([3])] } },
    })
  })

  it('keeps from a node a version that its software cannot serve, and shows which resource needs what', async () => {
    fleet.versions.publish(1n)
    const stream = await node.connected({ version: 1n, hash: hashOf(1n), features: ['delta'] })
    const need = { feature: 'new', kind: 'service' as const, name: 's', field: 'newField' }
    fleet.versions.needs = [need]
    fleet.versions.publish(2n)
    await untilNode({
      state: 'rejected',
      version: 1,
      desiredVersion: 2,
      desiredHash: hashOf(2n),
      missingFeatures: [need],
    })
    expect(stream.unread).toBe(0)
    fleet.versions.needs = []
    fleet.versions.publish(3n)
    expect(await apply(stream)).toBe(3n)
    await untilNode({ state: 'in-sync', missingFeatures: [] })
  })

  it('sends a node with the feature what needs it', async () => {
    fleet.versions.needs = [{ feature: 'new', kind: 'service', name: 's', field: 'newField' }]
    fleet.versions.publish(1n)
    const stream = node.connect({ features: ['new'] })
    expect(await apply(stream)).toBe(1n)
  })

  it('sends the whole version again when the node asks for it', async () => {
    fleet.versions.publish(1n)
    const stream = node.connect({ version: 1n, hash: hashOf(1n) })
    stream.send({ $case: 'full', value: {} })
    expect((await nextUpdate(stream)).version).toBe(1n)
  })

  it.each([
    ['a version that was not sent', 7n, hashOf(7n)],
    ['another hash', 1n, hashOf(7n)],
  ])('refuses an answer for %s', async (_name, version, hash) => {
    fleet.versions.publish(1n)
    const stream = node.connect()
    await nextUpdate(stream)
    stream.send({ $case: 'applied', value: { version, hash, tookMs: 1 } })
    expect(await stream.ended).toEqual([
      status.INVALID_ARGUMENT,
      `applied: version ${version} with this hash was not sent on this stream`,
    ])
    expect((await fleet.node('edge-1')).version).toBe(0)
  })
})

describe('a second session of the same node', () => {
  it('is refused while the first one answers', async () => {
    const first = await node.connected()
    const second = node.connect({ bootId: 'boot-2' })
    expect(await second.ended).toEqual([
      status.ALREADY_EXISTS,
      'the node "edge-1" is connected already; does another machine use a copy of its data?',
    ])
    expect(await fleet.node('edge-1')).toMatchObject({ isConnected: true, bootId: 'boot-1' })
    fleet.versions.publish(1n)
    expect(await apply(first)).toBe(1n)
  })

  it('replaces the first one when that no longer answers', async () => {
    const first = await node.connected()
    first.answersPings = false
    const second = await node.connected({ bootId: 'boot-2' })
    expect(await first.ended).toEqual([
      status.ABORTED,
      'the node did not answer and connected anew',
    ])
    await untilNode({ isConnected: true, bootId: 'boot-2' })
    fleet.versions.publish(1n)
    expect(await apply(second)).toBe(1n)
  })

  it('gets the place at once when the first one has left', async () => {
    const first = await node.connected()
    first.call.end()
    await first.ended
    await untilNode({ isConnected: false, state: 'lost' })
    await node.connected({ bootId: 'boot-2' })
    await untilNode({ isConnected: true })
  })
})

describe('revoking', () => {
  it('ends both streams within two seconds and refuses new ones', async () => {
    const configure = await node.connected()
    const report = node.report()
    await report.accepted
    const revokedAtMs = Date.now()
    expect(await fleet.registry.revoke('edge-1')).toMatchObject({
      state: 'revoked',
      isConnected: false,
    })
    const cut = [status.PERMISSION_DENIED, 'the node was revoked']
    expect(await Promise.all([configure.ended, report.ended])).toEqual([cut, cut])
    expect(Date.now() - revokedAtMs).toBeLessThan(2_000)
    await vi.waitFor(async () => expect((await fleet.node(node.id)).isConnected).toBe(false))

    const refused = [status.PERMISSION_DENIED, 'the node "edge-1" is revoked']
    expect(await node.connect().ended).toEqual(refused)
    expect(await node.report().ended).toEqual(refused)
  })

  it('cuts off within two seconds even a node that does not read', async () => {
    const { reset } = connectWithoutReading(node)
    await untilNode({ isConnected: true })
    fleet.versions.publish(1n, [new Uint8Array(8 * 1_048_576)])
    const revokedAtMs = Date.now()
    await fleet.registry.revoke('edge-1')
    await reset
    expect(Date.now() - revokedAtMs).toBeLessThan(2_000)
    await untilNode({ isConnected: false, state: 'revoked' })
  })

  it('knows a node by name or id, and no other', async () => {
    expect(await fleet.registry.revoke('edge-2')).toBeUndefined()
    expect(await fleet.registry.revoke(node.id)).toMatchObject({ name: 'edge-1' })
  })
})

describe('renewal', () => {
  it('gives a new certificate, and accepts the old one until the new one was seen', async () => {
    const old = node.identity
    const stream = await node.connected()
    const { privateKeyPem, csrPem } = await makeCsr()
    stream.send({ $case: 'renewal', value: { csrPem } })
    const { message } = await stream.next()
    const renewal = message?.$case === 'renewal' ? message.value : undefined
    expect(renewal?.caChainPem).toBe(fleet.authority.caPem)
    stream.call.end()
    await stream.ended

    const withOld = await node.connected()
    withOld.call.end()
    await withOld.ended
    node.identity = { ...old, privateKeyPem, certificatePem: renewal?.certificatePem ?? '' }
    const withNew = await node.connected()
    withNew.call.end()
    await withNew.ended
    node.identity = old
    expect(await node.connect().ended).toEqual([
      status.UNAUTHENTICATED,
      'the node certificate was replaced by a newer one',
    ])
  })

  it('keeps the old certificate when the answer to a renewal was lost', async () => {
    const stream = await node.connected()
    for (const _time of [1, 2]) {
      stream.send({ $case: 'renewal', value: { csrPem: (await makeCsr()).csrPem } })
      await stream.next()
    }
    stream.call.end()
    await stream.ended
    await node.connected()
  })

  it('is refused for a bad request, which changes nothing', async () => {
    const before = await fleet.node('edge-1')
    const stream = await node.connected()
    stream.send({ $case: 'renewal', value: { csrPem: 'garbage' } })
    expect(await stream.ended).toEqual([
      status.INVALID_ARGUMENT,
      expect.stringMatching(/^csr_pem: /),
    ])
    const after = await fleet.node('edge-1')
    expect(after.certificateExpiresAt).toBe(before.certificateExpiresAt)
    await node.connected()
  })
})

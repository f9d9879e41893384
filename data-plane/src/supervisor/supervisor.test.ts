import { createServer } from 'node:net'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { NodeFixture, readiness, request, statusOf, webAddress } from './node.fixture.ts'
import { deltaUpdate, entryPoint, fullUpdate, router } from './resources.fixture.ts'
import { waitFor } from './wait-for.fixture.ts'

const OK = '200 from the origin'

let node: NodeFixture

beforeEach(async () => {
  node = await NodeFixture.make()
})

afterEach(async () => {
  await node.stop()
})

it('joins, applies a version, serves it and says so', async () => {
  const update = node.version(1n)
  node.controlPlane.update = update
  const supervisor = await node.start()
  expect(await node.controlPlane.take('applied')).toMatchObject({ version: 1n, hash: update.hash })
  expect(await request(await webAddress(supervisor))).toBe(OK)
  expect(await readiness(supervisor)).toBe('200 ready')
  expect(await statusOf(supervisor)).toMatchObject({
    version: 1,
    controlPlane: 'connected',
    source: 'control-plane',
    problems: [],
  })
  expect(node.log.filter((line) => line.includes('"msg":"ready"'))).toHaveLength(1)
  expect(node.log.join('')).not.toContain(node.controlPlane.secret)
})

it('is alive and not ready without any version', async () => {
  const supervisor = await node.start()
  await waitFor(() => node.controlPlane.hellos.length === 1, 'a hello')
  expect(await readiness(supervisor)).toBe('503 no version yet')
  expect((await fetch(`http://${supervisor.statusAddress}/healthz`)).status).toBe(200)
})

it('counts every request once, and logs add up to them', async () => {
  node.controlPlane.update = node.version(1n)
  const supervisor = await node.start({ workers: 2 })
  await node.controlPlane.take('applied')
  const address = await webAddress(supervisor)
  await Promise.all(Array.from({ length: 50 }, () => request(address)))
  await supervisor.stop()
  expect(node.controlPlane.requestsStored).toBe(50)
  const logs = [...node.controlPlane.logs.values()]
  const kept = logs.reduce((sum, { lines }) => sum + lines.length, 0)
  const notKept = logs.reduce((sum, batch) => sum + Number(batch.notKept), 0)
  expect(kept).toBeGreaterThan(0)
  expect(kept + notKept).toBe(50)
})

it('answers only for versions that it was sent: one from the disk is said in the next hello', async () => {
  node.controlPlane.update = node.version(1n)
  const first = await node.start()
  await node.controlPlane.take('applied')
  await first.stop()

  node.controlPlane.update = undefined
  const second = await node.start({}, false)
  await waitFor(async () => (await readiness(second)) === '200 ready', 'readiness')
  await waitFor(async () => (await statusOf(second)).controlPlane === 'connected', 'the link')
  node.controlPlane.send({ $case: 'ping', value: { id: 7n } })
  expect(await node.controlPlane.take('pong')).toEqual({ id: 7n, timeMs: expect.any(BigInt) })
  expect(node.controlPlane.messages.filter(({ $case }) => $case === 'applied')).toEqual([])
})

it('starts from the disk while the control plane is away, and nothing it counts is lost', async () => {
  node.controlPlane.update = node.version(1n)
  const first = await node.start()
  await node.controlPlane.take('applied')
  await request(await webAddress(first))
  node.controlPlane.down()
  await waitFor(async () => (await statusOf(first)).controlPlane === 'disconnected', 'the loss')
  await request(await webAddress(first))
  await first.stop()

  const second = await node.start({}, false)
  await waitFor(async () => (await readiness(second)) === '200 ready', 'readiness')
  expect(await statusOf(second)).toMatchObject({ version: 1, source: 'disk' })
  await request(await webAddress(second))
  node.controlPlane.update = node.version(2n)
  const backAt = Date.now()
  await node.controlPlane.up()
  expect(await node.controlPlane.take('applied')).toMatchObject({ version: 2n })
  expect(Date.now() - backAt).toBeLessThan(5_000)
  expect(node.controlPlane.hellos.at(-1)).toMatchObject({ version: 1n })
  await waitFor(() => node.controlPlane.requestsStored === 3, 'all counters')
  await second.stop()
  expect(node.controlPlane.requestsStored).toBe(3)
  const logs = [...node.controlPlane.logs.values()]
  expect(logs.reduce((sum, { lines }) => sum + lines.length, 0)).toBe(3)
})

it('rejects a version whose address is taken, and the old one serves on', async () => {
  node.controlPlane.update = node.version(1n)
  const supervisor = await node.start()
  await node.controlPlane.take('applied')
  const taken = createServer()
  await new Promise<void>((resolve) => void taken.listen(0, '127.0.0.1', resolve))
  const bound = taken.address()
  const port = typeof bound === 'object' ? bound?.port : 0
  const resources = [...node.resources(2n), entryPoint('other', `127.0.0.1:${port}`)]
  node.controlPlane.sendUpdate(fullUpdate(2n, resources))
  const rejected = await node.controlPlane.take('rejected')
  taken.close()
  expect(rejected.problems).toEqual([
    {
      object: { kind: 1, name: 'other' },
      field: 'address',
      reason: `127.0.0.1:${port} is already in use by another process (EADDRINUSE)`,
    },
  ])
  expect(await request(await webAddress(supervisor))).toBe(OK)
  const { version, problems } = await statusOf(supervisor)
  expect(version).toBe(1)
  expect(problems).toHaveLength(1)
})

it('names object and field of what cannot be used', async () => {
  node.controlPlane.update = fullUpdate(1n, [router('lost', 'nowhere')])
  await node.start()
  const { problems } = await node.controlPlane.take('rejected')
  expect(problems[0]).toMatchObject({ object: { kind: 2, name: 'lost' }, field: 'service' })
})

it('refuses an empty version unless it is empty on purpose', async () => {
  node.controlPlane.update = node.version(1n)
  const supervisor = await node.start()
  await node.controlPlane.take('applied')
  node.controlPlane.sendUpdate(fullUpdate(2n, [entryPoint('web', '127.0.0.1:0')]))
  const { problems } = await node.controlPlane.take('rejected')
  expect(problems[0]?.reason).toContain('empty on purpose')
  expect(await request(await webAddress(supervisor))).toBe(OK)
  node.controlPlane.sendUpdate(fullUpdate(3n, [entryPoint('web', '127.0.0.1:0')], true))
  expect(await node.controlPlane.take('applied')).toMatchObject({ version: 3n })
  expect(await request(await webAddress(supervisor))).toMatch(/^404/)
})

it('rejects content that does not fit its hash', async () => {
  const update = { ...node.version(1n), hash: '0'.repeat(64) }
  node.controlPlane.update = update
  await node.start()
  const { version, problems } = await node.controlPlane.take('rejected')
  expect(version).toBe(1n)
  expect(problems[0]?.reason).toContain('does not fit its hash')
})

it('applies a delta on its base and asks for the whole otherwise', async () => {
  const base = node.version(1n)
  node.controlPlane.update = base
  await node.start()
  await node.controlPlane.take('applied')
  const added = [router('more', 'origin', ['more.test'])]
  const next = deltaUpdate(base, 2n, { added, removedRouters: ['of-version-1'] })
  node.controlPlane.sendUpdate({ ...next, baseVersion: 7n })
  await node.controlPlane.take('full')
  node.controlPlane.sendUpdate({ ...next, hash: 'f'.repeat(64) })
  await node.controlPlane.take('full')
  node.controlPlane.sendUpdate(next)
  expect(await node.controlPlane.take('applied')).toMatchObject({ version: 2n, hash: next.hash })
})

it('skips versions that a newer one overtakes', async () => {
  node.controlPlane.update = node.version(1n)
  const supervisor = await node.start()
  await node.controlPlane.take('applied')
  for (let number = 2n; number <= 20n; number += 1n) {
    node.controlPlane.sendUpdate(node.version(number))
  }
  await waitFor(async () => (await statusOf(supervisor)).version === 20, 'the newest version')
  const applied = node.controlPlane.messages.flatMap(({ $case }) =>
    $case === 'applied' ? [1] : [],
  )
  expect(applied.length).toBeLessThan(19)
})

it('answers a version that it runs already at once', async () => {
  const update = node.version(1n)
  node.controlPlane.update = update
  const supervisor = await node.start()
  await node.controlPlane.take('applied')
  const [before] = (await statusOf(supervisor)).workers
  node.controlPlane.sendUpdate(update)
  expect(await node.controlPlane.take('applied')).toMatchObject({ version: 1n })
  expect((await statusOf(supervisor)).workers).toEqual([before])
})

it('moves an entry point to its new address and leaves the old one', async () => {
  node.controlPlane.update = node.version(1n, '127.0.0.1:0')
  const supervisor = await node.start()
  await node.controlPlane.take('applied')
  const before = await webAddress(supervisor)
  node.controlPlane.sendUpdate(node.version(2n, 'localhost:0'))
  await node.controlPlane.take('applied')
  const after = await webAddress(supervisor)
  expect(after).not.toBe(before)
  expect(await request(after)).toBe(OK)
  await expect(request(before)).rejects.toThrow('ECONNREFUSED')
})

it('takes the address of an entry point from its flags first', async () => {
  node.controlPlane.update = node.version(1n, '192.0.2.1:80')
  const supervisor = await node.start({ listen: { web: ':0' } })
  await node.controlPlane.take('applied')
  const port = (await webAddress(supervisor)).split(':').at(-1)
  expect(await request(`127.0.0.1:${port}`)).toBe(OK)
})

it('answers pings', async () => {
  await node.start()
  await waitFor(() => node.controlPlane.hellos.length === 1, 'a hello')
  node.controlPlane.send({ $case: 'ping', value: { id: 42n } })
  expect(await node.controlPlane.take('pong')).toEqual({ id: 42n, timeMs: expect.any(BigInt) })
})

it('serves metrics that add up', async () => {
  node.controlPlane.update = node.version(1n)
  const supervisor = await node.start()
  await node.controlPlane.take('applied')
  const address = await webAddress(supervisor)
  for (let count = 0; count < 5; count += 1) await request(address)
  const line = 'sluice_node_requests_total{router="all",service="origin",class="success"} 5'
  const metrics = async () => (await fetch(`http://${supervisor.statusAddress}/metrics`)).text()
  await waitFor(async () => (await metrics()).includes(line), 'five requests')
  expect(await metrics()).toContain('sluice_node_connections_accepted_total 5')
  expect(await metrics()).toContain('sluice_node_version 1')
})

/**
 * A node that refuses one version after the other keeps nothing of them: neither on its disk nor in memory.
 * SLUICE_TEST_REJECTIONS sets how many; 10,000 is promised.
 */
import { once } from 'node:events'
import { readdir, stat } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { expect } from 'vitest'
import { claims } from './harness/claims.ts'
import { eventually } from './harness/eventually.ts'
import { entryPoint, type Fleet, router, service, startFleet } from './harness/fleet.ts'
import { statusOf } from './harness/http-text.ts'
import { ScriptedOrigin } from './harness/origins/scripted-origin.ts'
import { freePort } from './harness/ports.ts'
import { privateBytes } from './harness/private-memory.ts'
import { exchange, get } from './harness/raw-client.ts'
import type { Scope } from './harness/scope.ts'

const { it } = claims()
const REJECTIONS = Number(process.env.SLUICE_TEST_REJECTIONS ?? 150)
const EACH_MS = 1_000
/** What a process may grow by while it handles some hundred versions, whatever becomes of them. */
const GROWTH_BYTES_MAX = 24 * 1_048_576

async function bytesIn(folder: string): Promise<number> {
  const names = await readdir(folder, { recursive: true })
  const sizes = await Promise.all(names.map(async (name) => (await stat(join(folder, name))).size))
  return sizes.reduce((sum, size) => sum + size, 0)
}

async function refuse(fleet: Fleet, port: number, index: number): Promise<void> {
  const { version } = await fleet.api.apply(service('s', [port], { queueMax: index }))
  await eventually(async () => (await fleet.nodeView()).rejected?.version === version, {
    withinMs: 5_000,
    that: `the rejection of version ${version}`,
  })
}

async function refuseAll(scope: Scope): Promise<void> {
  const origin = await ScriptedOrigin.start(scope)
  const taken = await freePort()
  const squatter = createServer().listen(taken, '127.0.0.1')
  scope.defer(() => squatter.close())
  await once(squatter, 'listening')
  const fleet = await startFleet(scope)
  await fleet.publish(service('s', [origin.port]), router('r', 'r.test', 's'))
  await fleet.api.apply(entryPoint('extra', { address: `127.0.0.1:${taken}` }))
  for (let index = 1; index <= 50; index += 1) await refuse(fleet, origin.port, index)
  const memoryOf = () => privateBytes(fleet.node.process.pid)
  const before = { bytes: await bytesIn(fleet.node.dataDirectory), memory: memoryOf() }
  for (let index = 51; index <= REJECTIONS; index += 1) await refuse(fleet, origin.port, index)
  // What it counts goes through the same folder, a minute at a time.
  expect(await bytesIn(fleet.node.dataDirectory)).toBeLessThan(before.bytes + 65_536)
  expect(memoryOf()).toBeLessThan(before.memory + GROWTH_BYTES_MAX)
  const answer = await exchange(scope, fleet.node.port(), get('r.test', '/'))
  expect(statusOf(answer)).toBe(200)
  await fleet.api.delete('/api/v1/entry-points/extra')
  await fleet.untilInSync((await fleet.status()).version)
}

it(
  `${REJECTIONS} versions that a node refuses leave nothing on its disk and in its memory, and it serves all the time`,
  refuseAll,
  { withinMs: REJECTIONS * EACH_MS + 60_000 },
)

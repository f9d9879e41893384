/** A disk that is full: writes are refused and say so, nothing else changes, and all goes on once there is space. */
import { execFileSync } from 'node:child_process'
import { closeSync, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect } from 'vitest'
import { claims } from './harness/claims.ts'
import { ControlPlane } from './harness/control-plane.ts'
import { eventually } from './harness/eventually.ts'
import { entryPoint, Fleet, joinNode, router, service } from './harness/fleet.ts'
import { statusOf } from './harness/http-text.ts'
import { ScriptedOrigin } from './harness/origins/scripted-origin.ts'
import { exchange, get } from './harness/raw-client.ts'
import type { Scope } from './harness/scope.ts'

const { it } = claims()
const DISK_MIB = 24
const WRITES = 200
const canMount = process.platform === 'linux' && process.getuid?.() === 0
const reason = canMount ? '' : ' (skipped: mounting a small disk needs root on Linux)'

async function smallDisk(scope: Scope): Promise<string> {
  const folder = await scope.temporaryDirectory()
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK_MIB}m`, 'sluice-test', folder])
  scope.defer(() => execFileSync('umount', ['--lazy', folder]))
  return folder
}

/** Takes all that is left; returns the function that gives it back. */
function fill(folder: string): () => void {
  const file = join(folder, 'ballast')
  const handle = openSync(file, 'w')
  try {
    for (let size = 1 << 20; size >= 1; size = size >> 1) writeAll(handle, Buffer.alloc(size))
  } finally {
    closeSync(handle)
  }
  return () => rmSync(file)
}

function writeAll(handle: number, bytes: Buffer): void {
  try {
    while (writeSync(handle, bytes) === bytes.length);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
  }
}

describe.skipIf(!canMount)(`a full disk of the control plane${reason}`, () => {
  it('refuses writes with a problem that says so, shows what there is, keeps nodes, and takes writes again once there is space', async (scope) => {
    const origin = await ScriptedOrigin.start(scope)
    const disk = await smallDisk(scope)
    const controlPlane = await ControlPlane.start(scope, disk)
    await controlPlane.api.apply(entryPoint('web'))
    const node = await joinNode(scope, controlPlane, { name: 'n1' })
    await node.untilReady()
    const fleet = new Fleet(controlPlane, [node])
    await fleet.publish(service('s', [origin.port]), router('r', 'r.test', 's'))
    const free = fill(disk)

    // The log of writes has room of its own, which writes use up first.
    const refused = await writeUntilRefused(fleet)
    expect(refused.status).toBe(507)
    expect(refused.body).toMatchObject({ type: 'urn:sluice:problem:disk-full' })
    const before = await fleet.status()
    expect((await fleet.api.call('GET', '/api/v1/routers/r')).status).toBe(200)
    expect((await fleet.api.call('GET', '/api/v1/routers/late')).status).toBe(404)
    expect(statusOf(await exchange(scope, node.port(), get('r.test', '/')))).toBe(200)

    free()
    const { version } = await eventually(
      () => fleet.api.apply(router('late', 'late.test', 's')).catch(() => undefined),
      { withinMs: 10_000, that: 'a write once there is space' },
    )
    expect(version).toBe(before.version + 1)
    await fleet.untilInSync(version, 20_000)
    expect(statusOf(await exchange(scope, node.port(), get('late.test', '/')))).toBe(200)
  })
})

async function writeUntilRefused(fleet: Fleet) {
  for (let index = 0; index < WRITES; index += 1) {
    const body = { resources: [router(`fill-${index}`, `fill-${index}.test`, 's')] }
    const answer = await fleet.api.call('POST', '/api/v1/apply', { body })
    if (answer.status !== 200) return answer
  }
  throw new Error(`${WRITES} writes were taken by a full disk`)
}

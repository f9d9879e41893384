/** A disk that is full: writes are refused and say so, nothing else changes, and all goes on once there is space. */
import { describe, expect } from 'vitest'
import { claims } from './harness/claims.ts'
import { ControlPlane } from './harness/control-plane.ts'
import { eventually } from './harness/eventually.ts'
import { entryPoint, Fleet, joinNode, router, service } from './harness/fleet.ts'
import { statusOf } from './harness/http-text.ts'
import { ScriptedOrigin } from './harness/origins/scripted-origin.ts'
import { exchange, get } from './harness/raw-client.ts'
import { canMount, fill, smallDisk, whyNoDisk } from './harness/small-disk.ts'

const { it } = claims()
const DISK_MIB = 24
const WRITES = 200

describe.skipIf(!canMount)(`a full disk of the control plane${whyNoDisk}`, () => {
  it('refuses writes with a problem that says so, shows what there is, keeps nodes, and takes writes again once there is space', async (scope) => {
    const origin = await ScriptedOrigin.start(scope)
    const disk = await smallDisk(scope, DISK_MIB)
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

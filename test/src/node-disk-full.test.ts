/** The disk of a node is full: it serves, takes versions and counts as before, says what it cannot store, and catches up by itself. */
import { join } from 'node:path'
import { describe, expect } from 'vitest'
import type { Traffic } from './harness/api-client.ts'
import { claims } from './harness/claims.ts'
import { ControlPlane } from './harness/control-plane.ts'
import { eventually } from './harness/eventually.ts'
import { entryPoint, Fleet, joinNode, router, service } from './harness/fleet.ts'
import { statusOf } from './harness/http-text.ts'
import { startLoad } from './harness/load/start-load.ts'
import { startEchoOrigin } from './harness/origins/start-echo-origin.ts'
import { exchange, get } from './harness/raw-client.ts'
import { canMount, fill, smallDisk, whyNoDisk } from './harness/small-disk.ts'

const { it } = claims()
const DISK_MIB = 4
const SEEN = { withinMs: 20_000 }

async function counted({ api }: Fleet): Promise<number> {
  const minute = Math.floor(Date.now() / 60_000) * 60_000
  const range = `from=${minute - 600_000}&to=${minute + 60_000}`
  const traffic = await api.get<Traffic>(`/api/v1/analytics/traffic?by=router&${range}`)
  const points = traffic.series.filter(({ key }) => key === 'r').flatMap((one) => one.points)
  return points.reduce((sum, point) => sum + point.requests.total, 0)
}

/** More than a node could store in room that it gave back before. */
function manyRouters(host: string) {
  return Array.from({ length: 100 }, (_, at) => {
    const pathPrefixes = at === 0 ? ['/'] : [`/${at}/${'x'.repeat(900)}`]
    return router(`many-${at}`, host, 's', { match: { hosts: [host], pathPrefixes } })
  })
}

describe.skipIf(!canMount)(`a full disk of a node${whyNoDisk}`, () => {
  it('costs no request, no version and no count, is shown, and over when there is space', async (scope) => {
    const echo = await startEchoOrigin(scope, 'echo')
    const disk = await smallDisk(scope, DISK_MIB)
    const controlPlane = await ControlPlane.start(scope)
    await controlPlane.api.apply(entryPoint('web'))
    const dataDirectory = join(disk, 'node')
    const node = await joinNode(scope, controlPlane, { name: 'n1', dataDirectory })
    const fleet = new Fleet(controlPlane, [await node.untilReady()])
    await fleet.publish(service('s', [echo]), router('r', 'r.test', 's'))
    const plan = { connections: 4, work: 'small', path: '/load', expected: 'echo /load' } as const
    const port = node.port()
    const load = startLoad(scope, { ...plan, port, host: 'r.test', requestsPerSecondMax: 100 })
    await load.untilMore(50)

    const free = fill(disk)
    let version = await fleet.publish(...manyRouters('late.test'))
    expect(statusOf(await exchange(scope, port, get('late.test', '/load')))).toBe(200)
    expect(String((await node.status()).problems)).toMatch(
      new RegExp(`version ${version} runs and is not stored.*ENOSPC`),
    )
    expect((await node.probe('/metrics')).text).toMatch(/^sluice_node_disk_failing 1$/m)
    version = await fleet.publish(...manyRouters('later.test'))
    const areCountersTold = async () => {
      // What the node itself gives back is taken too.
      fill(disk)
      return /counters cannot be stored/.test(String((await node.status()).problems))
    }
    await eventually(areCountersTold, {
      ...SEEN,
      that: 'the counters, which are not stored either',
    })
    await load.untilMore(300)

    free()
    await eventually(async () => (await node.status()).problems.length === 0, {
      ...SEEN,
      that: 'everything stored again',
    })
    expect((await node.probe('/metrics')).text).toMatch(/^sluice_node_disk_failing 0$/m)
    await load.untilMore(50)
    const { sent, failures } = await load.stop()
    expect(failures).toEqual([])
    await eventually(async () => (await counted(fleet)) >= sent, { ...SEEN, that: 'every count' })
    expect(await counted(fleet)).toBe(sent)

    await controlPlane.stop()
    node.process.signal('SIGKILL')
    await node.process.waitForExit()
    node.startAgain()
    await node.untilReady()
    expect(await node.status()).toMatchObject({ version, source: 'disk' })
  })
})

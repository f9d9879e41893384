/** A control plane that comes back with yesterday's data must not take the fleet back to yesterday in silence. */
import { cp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'vitest'
import { claims } from './harness/claims.ts'
import { eventually } from './harness/eventually.ts'
import { type Fleet, router, service, startFleet } from './harness/fleet.ts'
import { statusOf } from './harness/http-text.ts'
import { ScriptedOrigin } from './harness/origins/scripted-origin.ts'
import { exchange, get } from './harness/raw-client.ts'
import type { Scope } from './harness/scope.ts'

const { it } = claims()
const NOTICED_MS = 10_000

interface History {
  readonly isBehind: boolean
  readonly newestVersion: number
  readonly newestVersionSeen: number | null
  readonly nodesAhead: readonly string[]
}

const historyOf = (fleet: Fleet) => fleet.api.get<History>('/api/v1/history')

async function untilBehind(fleet: Fleet): Promise<History> {
  return eventually(
    async () => {
      const history = await historyOf(fleet)
      return history.isBehind && history.nodesAhead.length === 2 ? history : undefined
    },
    { withinMs: NOTICED_MS, that: 'the notice that both nodes are ahead' },
  )
}

async function statusesOf(scope: Scope, fleet: Fleet, host: string): Promise<number[]> {
  const answers = fleet.nodes.map((node) => exchange(scope, node.port(), get(host, '/')))
  return (await Promise.all(answers)).map((answer) => statusOf(answer))
}

it('after an older backup is restored, nodes keep their newer version over restarts and writes, the operator is told, and goes on by accepting', async (scope) => {
  const origin = await ScriptedOrigin.start(scope)
  const fleet = await startFleet(scope, { nodes: 2 })
  const old = await fleet.publish(service('s', [origin.port]), router('old', 'old.test', 's'))
  expect((await historyOf(fleet)).isBehind).toBe(false)
  await fleet.controlPlane.stop()
  const backup = join(await scope.temporaryDirectory(), 'backup')
  await cp(fleet.controlPlane.dataDirectory, backup, { recursive: true })
  await fleet.controlPlane.startAgain()
  await fleet.publish(router('new', 'new.test', 's'))
  const newest = await fleet.publish(router('newer', 'newer.test', 's'))
  await fleet.controlPlane.stop()
  await rm(fleet.controlPlane.dataDirectory, { recursive: true })
  await cp(backup, fleet.controlPlane.dataDirectory, { recursive: true })

  await fleet.controlPlane.startAgain()
  expect(await untilBehind(fleet)).toMatchObject({
    newestVersion: old,
    newestVersionSeen: newest,
    nodesAhead: ['n1', 'n2'],
  })
  for (let write = 0; write < 3; write += 1) {
    await fleet.api.apply(router(`w${write}`, `w${write}.test`, 's'))
  }
  await fleet.controlPlane.kill()
  await fleet.controlPlane.startAgain()
  await eventually(async () => (await fleet.nodeViews()).every(({ isConnected }) => isConnected), {
    withinMs: NOTICED_MS,
    that: 'both nodes connected again',
  })
  expect((await historyOf(fleet)).isBehind).toBe(true)
  expect(await statusesOf(scope, fleet, 'newer.test')).toEqual([200, 200])
  expect(await statusesOf(scope, fleet, 'w0.test')).toEqual([404, 404])

  const answer = await fleet.api.post<History>('/api/v1/history/accept')
  expect(answer).toMatchObject({ isBehind: false, newestVersionSeen: null })
  expect(answer.newestVersion).toBeGreaterThan(newest)
  await fleet.untilInSync(answer.newestVersion)
  expect(await statusesOf(scope, fleet, 'newer.test')).toEqual([404, 404])
  expect(await statusesOf(scope, fleet, 'w0.test')).toEqual([200, 200])
})

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

/** Stops the control plane and gives it a copy of its data from before. */
async function restore(fleet: Fleet, backup: string): Promise<void> {
  await fleet.controlPlane.stop()
  await rm(fleet.controlPlane.dataDirectory, { recursive: true })
  await cp(backup, fleet.controlPlane.dataDirectory, { recursive: true })
  await fleet.controlPlane.startAgain()
}

async function backUp(scope: Scope, fleet: Fleet): Promise<string> {
  await fleet.controlPlane.stop()
  const backup = join(await scope.temporaryDirectory(), 'backup')
  await cp(fleet.controlPlane.dataDirectory, backup, { recursive: true })
  await fleet.controlPlane.startAgain()
  return backup
}

it('after an older backup is restored, nodes keep their newer version over restarts and writes, the operator is told, and goes on by accepting', async (scope) => {
  const origin = await ScriptedOrigin.start(scope)
  const fleet = await startFleet(scope, { nodes: 2 })
  const old = await fleet.publish(service('s', [origin.port]), router('old', 'old.test', 's'))
  expect((await historyOf(fleet)).isBehind).toBe(false)
  const backup = await backUp(scope, fleet)
  await fleet.publish(router('new', 'new.test', 's'))
  const newest = await fleet.publish(router('newer', 'newer.test', 's'))
  await restore(fleet, backup)
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

it('nodes that come back after the restored control plane has published past their number are noticed by what they run', async (scope) => {
  const origin = await ScriptedOrigin.start(scope)
  const fleet = await startFleet(scope, { nodes: 2 })
  const [steady, away] = fleet.nodes
  await fleet.publish(service('s', [origin.port]), router('old', 'old.test', 's'))
  const backup = await backUp(scope, fleet)
  const lost = await fleet.publish(router('lost', 'lost.test', 's'))
  for (const node of fleet.nodes) await node.stop()
  await restore(fleet, backup)
  let newest = 0
  while (newest <= lost + 2) {
    ;({ version: newest } = await fleet.api.apply(router(`w${newest}`, `w${newest}.test`, 's')))
  }
  for (const node of fleet.nodes) node.startAgain()
  await Promise.all(fleet.nodes.map((node) => node.untilReady()))
  expect(await untilBehind(fleet)).toMatchObject({
    newestVersion: newest,
    newestVersionSeen: lost,
    nodesAhead: [steady!.name, away!.name],
  })
  await fleet.api.apply(router('more', 'more.test', 's'))
  expect(await statusesOf(scope, fleet, 'lost.test')).toEqual([200, 200])
  expect(await statusesOf(scope, fleet, 'more.test')).toEqual([404, 404])

  // One of them is off while the operator accepts, and settled with the other one.
  await away!.stop()
  const { newestVersion } = await fleet.api.post<History>('/api/v1/history/accept')
  away!.startAgain()
  await away!.untilReady()
  await fleet.untilInSync(newestVersion)
  expect(await historyOf(fleet)).toMatchObject({ isBehind: false, nodesAhead: [] })
  expect(await statusesOf(scope, fleet, 'lost.test')).toEqual([404, 404])
  expect(await statusesOf(scope, fleet, 'more.test')).toEqual([200, 200])
})

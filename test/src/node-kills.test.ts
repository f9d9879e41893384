/**
 * A node that is killed while it applies a version comes back with that version or with the one before, whole,
 * and without any control plane. SLUICE_TEST_KILLS sets how often; the moments are random.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'vitest'
import { claims } from './harness/claims.ts'
import { type Fleet, router, service, startFleet } from './harness/fleet.ts'
import { statusOf } from './harness/http-text.ts'
import { ScriptedOrigin } from './harness/origins/scripted-origin.ts'
import { exchange, get } from './harness/raw-client.ts'
import type { Scope } from './harness/scope.ts'

const { it } = claims()
const KILLS = Number(process.env.SLUICE_TEST_KILLS ?? 5)
const ROUTERS = 40
const RESTART_MS = 20_000
/** From the write to the node's answer it takes a part of it. */
const MOMENT_MS = 60

/** Every router in every version leads to the path of that version's priority. */
function resourcesOf(priority: number, port: number) {
  return [
    service('s', [port]),
    ...Array.from({ length: ROUTERS }, (_, index) =>
      router(`r${index}`, `r${index}.v${priority}.test`, 's', { priority }),
    ),
  ]
}

/** How many of the routers of a version the node has. */
async function servedOf(scope: Scope, fleet: Fleet, priority: number): Promise<number> {
  const answers = await Promise.all(
    Array.from({ length: ROUTERS }, (_, index) =>
      exchange(scope, fleet.node.port(), get(`r${index}.v${priority}.test`, '/')),
    ),
  )
  return answers.filter((answer) => statusOf(answer) === 200).length
}

async function killEach(scope: Scope): Promise<void> {
  const origin = await ScriptedOrigin.start(scope)
  const fleet = await startFleet(scope)
  let before = await fleet.publish(...resourcesOf(0, origin.port))
  for (let kill = 1; kill <= KILLS; kill += 1) {
    const { version } = await fleet.api.apply(...resourcesOf(kill, origin.port))
    await delay(Math.random() * MOMENT_MS)
    fleet.node.process.signal('SIGKILL')
    await fleet.node.process.waitForExit()
    await fleet.controlPlane.kill()
    fleet.node.startAgain()
    await fleet.node.untilReady()
    const status = await fleet.node.status()
    expect(status.source).toBe('disk')
    expect([before, version]).toContain(status.version)
    const isNew = status.version === version
    expect(await servedOf(scope, fleet, kill)).toBe(isNew ? ROUTERS : 0)
    expect(await servedOf(scope, fleet, kill - 1)).toBe(isNew ? 0 : ROUTERS)
    await fleet.controlPlane.startAgain()
    await fleet.untilInSync(version)
    before = version
  }
  expect(await servedOf(scope, fleet, KILLS)).toBe(ROUTERS)
}

it(
  `a node has a version whole after each of ${KILLS} kills while it applied one, without a control plane, and gets to the newest with it`,
  killEach,
  { withinMs: KILLS * RESTART_MS + 30_000 },
)

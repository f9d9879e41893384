/**
 * A control plane that is killed in the middle of a publish has the version whole afterwards, or not at all.
 * SLUICE_TEST_KILLS sets how often; the moments are random.
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
const KILLS = Number(process.env.SLUICE_TEST_KILLS ?? 8)
const ROUTERS = 40
/** An apply of this size takes a part of it. */
const MOMENT_MS = 60
/** A kill with the start after it, on a busy machine. */
const EACH_MS = 6_000

interface Routers {
  readonly items: readonly { readonly name: string; readonly priority: number }[]
}

/** The priorities of all routers that publishes change together. */
async function prioritiesOf(fleet: Fleet): Promise<Set<number>> {
  const { items } = await fleet.api.get<Routers>('/api/v1/routers?limit=1000')
  expect(items).toHaveLength(ROUTERS)
  return new Set(items.map(({ priority }) => priority))
}

function resourcesOf(priority: number) {
  return Array.from({ length: ROUTERS }, (_, index) =>
    router(`r${index}`, `r${index}.test`, 's', { priority }),
  )
}

it(
  `a publish is whole or absent after each of ${KILLS} kills, one that was answered is never lost, and the node gets to what is there`,
  killAgainAndAgain,
  { withinMs: 60_000 + KILLS * EACH_MS },
)

async function killAgainAndAgain(scope: Scope): Promise<void> {
  const origin = await ScriptedOrigin.start(scope)
  const fleet = await startFleet(scope, {
    resources: [service('s', [origin.port]), ...resourcesOf(0)],
  })
  let published = 0
  let absent = 0
  for (let kill = 1; kill <= KILLS; kill += 1) {
    const answered = fleet.api.apply(...resourcesOf(kill)).then(
      ({ version }) => version,
      () => undefined,
    )
    await delay(Math.random() * MOMENT_MS)
    await fleet.controlPlane.kill()
    const version = await answered
    await fleet.controlPlane.startAgain()
    const [priority, ...others] = await prioritiesOf(fleet)
    expect(others).toEqual([])
    expect([published, kill]).toContain(priority)
    if (version !== undefined) expect(priority).toBe(kill)
    if (priority === kill) published = kill
    else absent += 1
    expect(statusOf(await exchange(scope, fleet.node.port(), get('r0.test', '/')))).toBe(200)
  }
  const { version, hash } = await fleet.status()
  expect(version).toBe(1 + KILLS - absent)
  await fleet.untilInSync(version)
  expect((await fleet.node.status()).hash).toBe(hash)
}

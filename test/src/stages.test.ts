/** A version that goes to some nodes first: promoted when they answer as the others do, taken back when not. */
import { once } from 'node:events'
import { createServer } from 'node:net'
import { expect } from 'vitest'
import { claims } from './harness/claims.ts'
import { cliEnvironment, fileWith, runCli } from './harness/cli.ts'
import { eventually } from './harness/eventually.ts'
import { entryPoint, type Fleet, joinNode, router, service, startFleet } from './harness/fleet.ts'
import { statusOf } from './harness/http-text.ts'
import { ScriptedOrigin } from './harness/origins/scripted-origin.ts'
import { freePort } from './harness/ports.ts'
import { exchange, get } from './harness/raw-client.ts'
import type { Scope } from './harness/scope.ts'

const { it } = claims()
const ENDED_MS = 30_000
const PLAN = 'canary=node:n1,hold=2s,max-5xx=1%,max-p99=+900%,min-requests=20'

interface Stage {
  readonly state: string
  readonly version: number
  readonly baseVersion: number
  readonly reason: string
  readonly endedAt: string | null
  readonly comparison: { readonly selected: { readonly requests: number } } | null
}

interface Stages {
  readonly items: readonly Stage[]
}

async function newestStage(fleet: Fleet): Promise<Stage> {
  const [stage] = (await fleet.api.get<Stages>('/api/v1/stages')).items
  if (stage === undefined) throw new Error('there is no stage')
  return stage
}

async function applyInStages(fleet: Fleet, resources: readonly object[], plan = PLAN) {
  const path = `/api/v1/apply?stage=${encodeURIComponent(plan)}`
  return fleet.api.post<{ version: number }>(path, { resources })
}

/** A fleet of two whose router leads to an origin that answers 200. */
async function startPair(scope: Scope): Promise<{ fleet: Fleet; port: number; base: number }> {
  const origin = await ScriptedOrigin.start(scope)
  const fleet = await startFleet(scope, { nodes: 2 })
  const base = await fleet.publish(service('s', [origin.port]), router('r', 'r.test', 's'))
  return { fleet, port: origin.port, base }
}

/** Asks both nodes until the stage has ended; tells what the second one answered and ran meanwhile. */
async function askUntilEnded(scope: Scope, fleet: Fleet) {
  const statuses = new Set<number>()
  const versions = new Set<number | null>()
  const stage = await eventually(
    async () => {
      const asked = fleet.nodes.flatMap((node) =>
        Array.from({ length: 5 }, async () => {
          const status = statusOf(await exchange(scope, node.port(), get('r.test', '/')))
          if (node !== fleet.node) statuses.add(status)
        }),
      )
      const { version } = await fleet.nodeView('n2')
      await Promise.all(asked)
      const newest = await newestStage(fleet)
      if (newest.endedAt === null) versions.add(version)
      return newest.endedAt === null ? undefined : newest
    },
    { withinMs: ENDED_MS, that: 'the end of the stage' },
  )
  return { stage, statuses, versions }
}

it('a version goes to the selected node first, keeps other writes waiting, and to all once that node answers as the others do', async (scope) => {
  const { fleet, port, base } = await startPair(scope)
  const { version } = await applyInStages(fleet, [service('s', [port], { queueMax: 7 })])
  await eventually(async () => (await fleet.nodeView('n1')).version === version, {
    withinMs: 5_000,
    that: 'the version on the selected node',
  })
  const refused = await fleet.api.call('POST', '/api/v1/apply', {
    body: { resources: [service('late', [port])] },
  })
  expect(refused.status).toBe(409)
  expect(refused.body).toMatchObject({
    type: 'urn:sluice:problem:stage-open',
    detail: expect.stringContaining(`version ${version} is in stage "canary"`),
  })
  const { stage, statuses, versions } = await askUntilEnded(scope, fleet)
  expect(stage).toMatchObject({ state: 'promoted', version, baseVersion: base })
  expect([...statuses]).toEqual([200])
  expect([...versions]).toEqual([base])
  await fleet.untilInSync(version)
  expect(await fleet.api.get('/api/v1/audit?action=promote')).toMatchObject({
    items: [{ who: 'control-plane', via: 'control-plane', object: `version ${version}` }],
  })
  await fleet.publish(service('late', [port]))
})

it('a version with which the selected node answers 5xx is taken back there, and never comes to the others', async (scope) => {
  const { fleet, base } = await startPair(scope)
  const before = await fleet.nodeView('n2')
  const nobody = await freePort()
  const { version } = await applyInStages(fleet, [service('s', [nobody])])
  const { stage, statuses, versions } = await askUntilEnded(scope, fleet)
  expect(stage).toMatchObject({ state: 'withdrawn', version, baseVersion: base })
  expect(stage.reason).toMatch(/% of its answers were 5xx, and 0\.0 % of those of the other nodes/)
  expect([...statuses]).toEqual([200])
  expect([...versions]).toEqual([base])
  await fleet.untilInSync(version + 1)
  expect((await fleet.nodeView('n1')).hash).toBe(before.hash)
  const answer = await exchange(scope, fleet.node.port(), get('r.test', '/'))
  expect(statusOf(answer)).toBe(200)
})

it('a version that the selected node refuses is withdrawn with its reason', async (scope) => {
  const fleet = await startFleet(scope)
  const taken = await freePort()
  const canary = await joinNode(scope, fleet.controlPlane, {
    name: 'canary',
    ports: { web: await freePort(), extra: taken },
  })
  await canary.untilReady()
  await fleet.untilInSync()
  const squatter = createServer().listen(taken, '127.0.0.1')
  scope.defer(() => squatter.close())
  await once(squatter, 'listening')
  const address = `127.0.0.1:${await freePort()}`
  await applyInStages(fleet, [entryPoint('extra', { address })], 'canary=node:canary')
  const stage = await eventually(
    async () => {
      const newest = await newestStage(fleet)
      return newest.endedAt === null ? undefined : newest
    },
    { withinMs: ENDED_MS, that: 'the end of the stage' },
  )
  expect(stage.state).toBe('withdrawn')
  expect(stage.reason).toMatch(/^node canary refuses it: entry-point "extra": address .*in use/)
  await fleet.untilInSync(stage.version + 1)
})

it('a stage outlives the control plane, can be paused and goes back by the command line', async (scope) => {
  const { fleet, port, base } = await startPair(scope)
  const environment = cliEnvironment(fleet.controlPlane)
  const text = `kind: service\nname: s\nqueueMax: 9\nservers: [{url: "http://127.0.0.1:${port}"}]\n`
  const file = await fileWith(scope, 'staged.yaml', text)
  const plan = 'canary=node:n1,hold=1h'
  const applied = await runCli(scope, ['apply', '-f', file, '--stage', plan], environment)
  expect(applied.code, applied.output).toBe(0)
  const { version } = await newestStage(fleet)
  await eventually(async () => (await fleet.nodeView('n1')).version === version, {
    withinMs: 5_000,
    that: 'the version on the selected node',
  })
  await fleet.controlPlane.kill()
  await fleet.controlPlane.startAgain()
  await fleet.untilInSync()
  expect((await fleet.nodeView('n2')).version).toBe(base)
  expect((await fleet.nodeView('n1')).version).toBe(version)
  const paused = await runCli(scope, ['stage', 'stop'], environment)
  expect(paused.output).toMatch(/canary +paused/)
  const resumed = await runCli(scope, ['stage', 'resume'], environment)
  expect(resumed.output).toMatch(/canary +running/)
  const withdrawn = await runCli(scope, ['stage', 'withdraw'], environment)
  expect(withdrawn.output).toMatch(/canary +withdrawn .*withdrawn by admin/)
  await fleet.untilInSync(version + 1)
  const again = await runCli(scope, ['stage', 'promote'], environment)
  expect(again.code).not.toBe(0)
  expect(again.output).toContain('no stage is open')
})

it('a plan that cannot be followed is refused with its field, and publishes nothing', async (scope) => {
  const { fleet, port, base } = await startPair(scope)
  const problems: [string, RegExp][] = [
    ['canary=node:nobody', /selects no node that is connected: node:nobody/],
    ['canary=edge-1', /selects "edge-1"; it takes label:KEY/],
    ['canary=label:x,hold=2', /has hold=2; it takes 1s to 24h/],
    ['canary=label:x,max-p99=50%', /has max-p99=50%; it takes a share like \+50%/],
    ['Canary=label:x', /has the name "Canary"/],
    ['canary=label:x,retries=2', /has the setting "retries"/],
  ]
  for (const [plan, reason] of problems) {
    const answer = await fleet.api.call('POST', `/api/v1/apply?stage=${encodeURIComponent(plan)}`, {
      body: { resources: [service('s', [port], { queueMax: 3 })] },
    })
    expect(answer.status, plan).toBe(400)
    expect(answer.body).toMatchObject({
      problems: [{ field: 'stage', reason: expect.stringMatching(reason) }],
    })
  }
  expect((await fleet.status()).version).toBe(base)
})

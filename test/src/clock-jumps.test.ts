/** Clocks that are set by an hour or a day while everything runs: no request fails, no count is lost, logs go on. */
import { describe, expect } from 'vitest'
import type { LogItem, NodeView, Page, Traffic } from './harness/api-client.ts'
import { claims } from './harness/claims.ts'
import { ControlPlane } from './harness/control-plane.ts'
import { eventually } from './harness/eventually.ts'
import { entryPoint, Fleet, joinNode, router, service } from './harness/fleet.ts'
import { type Load, startLoad } from './harness/load/start-load.ts'
import { canMoveClock, MovableClock, whyNoClock } from './harness/movable-clock.ts'
import { startEchoOrigin } from './harness/origins/start-echo-origin.ts'
import type { Scope } from './harness/scope.ts'

const { it } = claims()
const HOUR = 3_600
const DAY = 86_400
const SEEN = { withinMs: 10_000 }

interface Scene {
  readonly fleet: Fleet
  readonly nodeClock: MovableClock
  readonly controlPlaneClock: MovableClock
  readonly load: Load
}

async function startScene(scope: Scope): Promise<Scene> {
  const echo = await startEchoOrigin(scope, 'echo')
  const [nodeClock, controlPlaneClock] = [
    await MovableClock.create(scope),
    await MovableClock.create(scope),
  ]
  const controlPlane = await ControlPlane.start(scope, undefined, controlPlaneClock.environment)
  await controlPlane.api.apply(entryPoint('web'))
  const { environment } = nodeClock
  const node = await joinNode(scope, controlPlane, { name: 'n1', workers: 2, environment })
  const fleet = new Fleet(controlPlane, [await node.untilReady()])
  await fleet.publish(service('s', [echo]), router('r', 'r.test', 's'))
  const plan = { connections: 4, work: 'small', path: '/load', expected: 'echo /load' } as const
  const port = node.port()
  const load = startLoad(scope, { ...plan, port, host: 'r.test', requestsPerSecondMax: 100 })
  await load.untilMore(50)
  return { fleet, nodeClock, controlPlaneClock, load }
}

/** When the newest exchange of a range ended, of those that were logged; long ago: there is none. */
async function newestLine(fleet: Fleet, fromMs: number, toMs: number): Promise<number> {
  const range = `from=${fromMs}&to=${toMs}&limit=1`
  const { items } = await fleet.api.get<Page<LogItem>>(`/api/v1/logs?${range}`)
  return Date.parse(items[0]?.time ?? '1970-01-01T00:00:00Z')
}

async function counted(fleet: Fleet): Promise<number> {
  const minute = 60_000
  const middle = Math.floor(Date.now() / minute) * minute
  let sum = 0
  for (let day = -2; day < 3; day += 1) {
    const from = middle + day * DAY * 1_000
    const range = `by=node&from=${from}&to=${from + DAY * 1_000}`
    const traffic = await fleet.api.get<Traffic>(`/api/v1/analytics/traffic?${range}`)
    const points = traffic.series.flatMap((one) => one.points)
    sum += points.reduce((total, point) => total + point.requests.total, 0)
  }
  return sum
}

/** Everything goes on as before the clock was set. */
async function expectGoingOn(
  { fleet, load }: Scene,
  name: string,
  offsetMs: number,
): Promise<void> {
  const { bootId } = await fleet.nodeView()
  const connectedAt = await connectedAtOf(fleet)
  const now = () => Date.now() + offsetMs
  await eventually(
    async () => (await newestLine(fleet, now() - 20_000, now() + 60_000)) > now() - 20_000,
    {
      ...SEEN,
      that: `log lines dated by the new time (${name})`,
    },
  )
  await load.untilMore(100)
  const { version } = await fleet.api.apply(
    router('r', 'r.test', 's', { priority: (await fleet.status()).version }),
  )
  await fleet.untilInSync(version)
  expect(await fleet.nodeView()).toMatchObject({ bootId, isConnected: true })
  expect(await connectedAtOf(fleet)).toBe(connectedAt)
  const { tookMs, uptimeSeconds } = await timesOf(fleet)
  expect(tookMs).toBeGreaterThanOrEqual(0)
  expect(tookMs).toBeLessThan(5_000)
  expect(uptimeSeconds).toBeGreaterThanOrEqual(0)
  expect(uptimeSeconds).toBeLessThan(HOUR / 2)
}

type Times = NodeView & {
  readonly tookMs: number
  readonly uptimeSeconds: number
  readonly connectedAt: string
}

const timesOf = (fleet: Fleet) => fleet.api.get<Times>('/api/v1/nodes/n1')
const connectedAtOf = async (fleet: Fleet) => (await timesOf(fleet)).connectedAt

describe.skipIf(!canMoveClock)(`clocks that are set${whyNoClock}`, () => {
  it(
    'a node whose clock is set by an hour and a day, both ways, serves, counts, logs and takes versions as before',
    async (scope) => {
      const scene = await startScene(scope)
      for (const seconds of [HOUR, 0, -HOUR, DAY, -DAY]) {
        await scene.nodeClock.move(seconds)
        await expectGoingOn(scene, `${seconds} s`, seconds * 1_000)
      }
      await expectExact(scene)
    },
    { withinMs: 120_000 },
  )

  it(
    'a control plane whose clock is set by an hour and a day, both ways, keeps its nodes, takes counts and sends versions as before',
    async (scope) => {
      const scene = await startScene(scope)
      for (const seconds of [HOUR, 0, -HOUR, DAY, 0, -DAY + HOUR]) {
        await scene.controlPlaneClock.move(seconds)
        await expectGoingOn(scene, `${seconds} s`, 0)
      }
      await expectExact(scene)
    },
    { withinMs: 120_000 },
  )
})

async function expectExact({ fleet, load }: Scene): Promise<void> {
  const { sent, failures } = await load.stop()
  expect(failures).toEqual([])
  await eventually(async () => (await counted(fleet)) >= sent, {
    ...SEEN,
    that: 'every count',
  }).catch(async () => expect(await counted(fleet)).toBe(sent))
  expect(await counted(fleet)).toBe(sent)
}

import { expect, it } from 'vitest'
import { allowedCpus } from '../processor.ts'
import { answerOf, BODY_BYTES, startOrigin } from './generator/origin.fixture.ts'
import type { LoadPlan } from './load-plan.ts'
import { runLoad } from './run-load.ts'

const OK = answerOf(200)
const PROCESSORS = allowedCpus().join(',')

function planFor(port: number, plan: Partial<LoadPlan> = {}): LoadPlan {
  return {
    targets: [{ address: '127.0.0.1', port }],
    requests: [{ method: 'GET', path: '/', host: 'one.test' }],
    connections: 4,
    schedule: { kind: 'constant', perSecond: 100, seconds: 1.5 },
    warmUpSeconds: 0.2,
    pace: 'tick',
    assign: 'shared',
    deadlineMs: 0,
    timeoutMs: 10_000,
    isConnectionPerRequest: false,
    expected: { status: 200, bodyBytes: BODY_BYTES },
    sourceAddresses: [],
    ...plan,
  }
}

it('a plan runs in a process of its own, which tells how far it is', async () => {
  await using origin = await startOrigin((socket) => socket.write(OK))
  const said: string[] = []
  const result = await runLoad(planFor(origin.port), {
    processors: PROCESSORS,
    nice: 1,
    onMeasuring: () => said.push('measuring'),
    onSecond: () => said.push('a second'),
  })
  // A starved machine may leave some unsent.
  expect(result.scheduled).toBe(150)
  expect(result.ok + result.unsent).toBe(150)
  expect(result.answeredInAll).toBeGreaterThanOrEqual(result.ok)
  expect(result.processorNs).toBeGreaterThan(0)
  expect(said).toEqual(['measuring', 'a second'])
})

it('an interrupted plan gives what was measured until then', async () => {
  const interrupted = new AbortController()
  await using origin = await startOrigin((socket, { total }) => {
    if (total === 60) interrupted.abort()
    socket.write(OK)
  })
  const schedule = { kind: 'constant', perSecond: 100, seconds: 3600 } as const
  const result = await runLoad(planFor(origin.port, { schedule }), {
    processors: PROCESSORS,
    schedulingPolicy: 'idle',
    signal: interrupted.signal,
  })
  expect(result.isInterrupted).toBe(true)
  expect(result.ok).toBeGreaterThanOrEqual(30)
})

it('a wrong plan is refused with everything that is wrong in it', async () => {
  const request = { method: 'GET', path: '/', host: 'one.test', target: 1 } as const
  const plan = planFor(1, { connections: 0, requests: [request] })
  await expect(runLoad(plan, { processors: PROCESSORS })).rejects.toThrow(
    'the plan is wrong: connections: 1 to 65536; requests[0].target: none such',
  )
})

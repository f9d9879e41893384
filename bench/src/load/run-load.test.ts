import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { allowedCpus } from '../processor.ts'
import { answerOf, BODY_BYTES, startOrigin } from './generator/origin.fixture.ts'
import type { LoadPlan, LoadResult } from './load-plan.ts'
import { runLoad } from './run-load.ts'

const run = promisify(execFile)
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

it('connections that this machine has no descriptor for are told from those that the target refuses', async () => {
  await using origin = await startOrigin((socket) => socket.write(OK))
  const plan = JSON.stringify(planFor(origin.port, { connections: 64 }))
  const main = new URL('./main.ts', import.meta.url).pathname
  const running = run('sh', ['-c', `ulimit -n 40; exec "$0" "$1"`, process.execPath, main])
  running.child.stdin?.end(plan)
  const result = JSON.parse((await running).stdout) as LoadResult
  expect(result.exhausted.files).toBeGreaterThan(0)
  expect(result.exhausted.ports).toBe(0)
})

it('a source address without a port to spare is told, too', async () => {
  await using origin = await startOrigin((socket) => socket.write(OK))
  // An address of documentation (RFC 5737): no interface has it, so that no port of it can be had.
  const result = await runLoad(planFor(origin.port, { sourceAddresses: ['192.0.2.1'] }), {
    processors: PROCESSORS,
  })
  expect(result.exhausted).toMatchObject({ files: 0 })
  expect(result.exhausted.ports).toBeGreaterThan(0)
  expect(result.ok).toBe(0)
})

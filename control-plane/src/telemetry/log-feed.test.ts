import { afterEach, beforeEach, expect, it } from 'vitest'
import { telemetryLimits as limits } from './limits.ts'
import type { LogFollower } from './log-feed.ts'
import type { LogChoice } from './logs.ts'
import { logs } from './testing/batches.ts'
import { startMs, TestTelemetry } from './testing/test-telemetry.ts'

let test: TestTelemetry

beforeEach(async () => {
  test = await TestTelemetry.open()
})
afterEach(() => test.remove())

const timeMs = BigInt(startMs)
const WITHIN_MS = 10_000

async function follow(choice: LogChoice = {}): Promise<LogFollower> {
  const follower = await test.telemetry.followLogs(choice)
  if (follower === undefined) throw new Error('no more may follow')
  return follower
}

async function pathsOf(follower: LogFollower): Promise<string[]> {
  return (await follower.next(WITHIN_MS)).items.map(({ path }) => path)
}

it('gives lines that are stored later, once each, in their order', async () => {
  await test.telemetry.storeLogs('n-1', logs(1, [{ timeMs, path: '/before' }]))
  const follower = await follow()
  await test.telemetry.storeLogs(
    'n-1',
    logs(2, [
      { timeMs, path: '/1' },
      { timeMs, path: '/2' },
    ]),
  )
  expect(await pathsOf(follower)).toEqual(['/1', '/2'])
  const next = pathsOf(follower)
  await test.telemetry.storeLogs('n-1', logs(2, [{ timeMs, path: '/again' }]))
  await test.telemetry.storeLogs('n-1', logs(3, [{ timeMs, path: '/3' }]))
  expect(await next).toEqual(['/3'])
})

it.each([
  [{ node: 'edge-2' }, ['/b/2']],
  [{ path: '/a' }, ['/a/1']],
  [{ client: '192.0.2.7' }, ['/a/1']],
  [{ status: '5xx' }, ['/b/2']],
  [{ method: 'POST' }, ['/b/2']],
  [{ node: 'nobody' }, []],
] satisfies [LogChoice, string[]][])('gives those of %j alone', async (choice, paths) => {
  const follower = await follow(choice)
  const one = { timeMs, path: '/a/1', clientAddress: '192.0.2.7', method: 'GET' }
  const other = { timeMs, path: '/b/2', status: 503, method: 'POST' }
  await test.telemetry.storeLogs('n-1', logs(1, [one]))
  await test.telemetry.storeLogs('n-2', logs(1, [other]))
  const { items } = await test.telemetry.queryLogs(choice)
  expect(items.map(({ path }) => path)).toEqual(paths)
  expect(await pathsOf(follower)).toEqual(paths)
})

it('tells a slow reader how many lines it was too slow for', async () => {
  const follower = await follow()
  const lines = Array.from({ length: limits.linesPerFeedMax + 5 }, () => ({ timeMs }))
  await test.telemetry.storeLogs('n-1', logs(1, lines))
  const { items, dropped } = await follower.next(WITHIN_MS)
  expect([items.length, dropped]).toEqual([limits.linesPerFeedMax, 5])
})

it('is for a bounded number of readers, and free again when one leaves', async () => {
  const followers = await Promise.all(Array.from({ length: limits.followersMax }, () => follow()))
  expect(await test.telemetry.followLogs({})).toBeUndefined()
  followers[0]?.end()
  expect(await test.telemetry.followLogs({})).toBeDefined()
})

it('lets a reader that waits go when it ends', async () => {
  const follower = await follow()
  const waiting = follower.next(WITHIN_MS)
  test.telemetry.endFollowing()
  expect(await waiting).toEqual({ items: [], dropped: 0 })
})

it('refuses a status that is none', async () => {
  await expect(test.telemetry.followLogs({ status: '9xx' })).rejects.toMatchObject({
    field: 'status',
  })
})

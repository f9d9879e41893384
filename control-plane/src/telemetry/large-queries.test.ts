/**
 * Questions about a month of a large fleet. Short by default; with SLUICE_LARGE_QUERIES=1 it has 1,000 nodes and
 * 30 days, prints the times, and holds each answer to 300 ms of its
 * thread on the processor, which others' load does not change as it does the time that passes.
 */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type RollupRecord, saveRollups } from '../store/rollups.ts'
import { inTelemetryTransaction } from '../store/telemetry.ts'
import type { AnalyticsQuery } from './analytics.ts'
import { bucketOf, LatencyHistogram } from './histogram.ts'
import { cubes, levelsMs } from './rollup-sums.ts'
import { dayMs, startMs, TestTelemetry } from './testing/test-telemetry.ts'

const isLarge = process.env.SLUICE_LARGE_QUERIES === '1'
const NODES = isLarge ? 1_000 : 10
const DAYS = isLarge ? 30 : 3
const REQUESTS = 7_000
const ANSWER_MS_MAX = isLarge ? 300 : 10_000
const ROWS_AT_ONCE = 1_000

let test: TestTelemetry
const range = { fromMs: startMs, toMs: startMs + DAYS * dayMs }

beforeAll(async () => {
  test = await TestTelemetry.open()
  test.nowMs = range.toMs
  const rows = rowsOf(cubes.node, levelsMs.day, NODES)
  rows.push(
    ...rowsOf(cubes.fleet, levelsMs.hour, 1),
    ...rowsOf(cubes.node, levelsMs.hour, NODES / 10),
  )
  for (let at = 0; at < rows.length; at += ROWS_AT_ONCE) {
    await inTelemetryTransaction(test.db, (tx) =>
      saveRollups(tx, rows.slice(at, at + ROWS_AT_ONCE)),
    )
  }
}, 300_000)

afterAll(() => test.remove())

it.each([
  ['all nodes by day', { by: ['node'], stepMs: dayMs }, NODES * DAYS],
  ['all nodes as a whole', { by: ['node'] }, NODES],
  ['all nodes by day and status', { by: ['node', 'status'], stepMs: dayMs }, 2 * NODES * DAYS],
  ['the fleet by hour', { by: [], stepMs: 3_600_000 }, 24 * DAYS],
] satisfies [string, Partial<AnalyticsQuery>, number][])(
  'answers %s in time',
  async (name, query, points) => {
    const asked = { ...range, filter: {}, percentiles: [0.5, 0.9, 0.99], ...query }
    await test.telemetry.queryAnalytics(asked)
    const beganAtMs = performance.now()
    const before = process.threadCpuUsage()
    const { series } = await test.telemetry.queryAnalytics(asked)
    const tookMs = performance.now() - beganAtMs
    const { user, system } = process.threadCpuUsage(before)
    const busyMs = (user + system) / 1_000
    if (isLarge) {
      const times = `${tookMs.toFixed(0)} ms, ${busyMs.toFixed(0)} ms of them on the processor`
      process.stdout.write(`${name}: ${times}\n`)
    }
    const found = series.flatMap((one) => one.points)
    expect(found).toHaveLength(points)
    expect(busyMs).toBeLessThan(ANSWER_MS_MAX)
  },
)

function rowsOf(cube: number, levelMs: number, keys: number): RollupRecord[] {
  const rows: RollupRecord[] = []
  const measures = measuresOf()
  for (let start = range.fromMs; start < range.toMs; start += levelMs) {
    for (let key = 0; key < keys; key += 1) {
      rows.push({
        cube,
        level_ms: levelMs,
        start_ms: start,
        node: cube === cubes.node ? `n${key}` : '',
        router: '',
        service: '',
        ...measures,
      })
    }
  }
  return rows
}

/** Latencies from 1 to 8 ms, in about a hundred buckets. */
function measuresOf() {
  const latency = new LatencyHistogram()
  for (let request = 0; request < REQUESTS; request += 1) latency.add(bucketOf(1_000 + request), 1)
  latency.addSum(REQUESTS * 4_500)
  const breakdown = new LatencyHistogram()
  for (const code of [133, 135, 136]) breakdown.add(code, REQUESTS / 4)
  return {
    informational: 0,
    success: REQUESTS - 7,
    redirection: 0,
    client_error: 0,
    server_error: 7,
    none: 0,
    bytes_in: 1e9,
    bytes_out: 1e10,
    retries: 1,
    latency: latency.pack(),
    first_byte: latency.pack(),
    breakdown: breakdown.pack(),
  }
}

import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { AnalyticsQuery } from './analytics.ts'
import { counters, minuteMs } from './testing/batches.ts'
import { dayMs, startMs, TestTelemetry } from './testing/test-telemetry.ts'

let test: TestTelemetry

beforeEach(async () => {
  test = await TestTelemetry.open()
})
afterEach(() => test.remove())

function ask(query: Partial<AnalyticsQuery> = {}) {
  return test.telemetry.queryAnalytics({
    by: [],
    fromMs: startMs,
    toMs: startMs + dayMs,
    filter: {},
    percentiles: [0.5],
    ...query,
  })
}

async function totals(query: Partial<AnalyticsQuery>): Promise<Record<string, number>> {
  const { series } = await ask(query)
  return Object.fromEntries(
    series.map(({ key, points }) => [
      Object.values(key).join(' '),
      points.reduce((sum, { requests }) => sum + requests, 0),
    ]),
  )
}

/** Origin answered, read, HTTP/1.1, success; and proxy answered, write, HTTP/1.0, server error. */
const READ = ((1 * 4 + 1) * 4 + 2) * 6 + 1
const WRITE = ((2 * 4 + 2) * 4 + 1) * 6 + 4

describe('columns for charts', () => {
  it('have a number for each step of the range, percentiles of merged histograms, and names that are asked for', async () => {
    const batch = (success: number, minute: number, latenciesUs: number[]) => ({
      router: 'shop',
      success,
      serverError: 1,
      bytesOut: 10,
      latenciesUs,
      minute,
    })
    await test.telemetry.storeCounters(
      'n-1',
      counters(startMs, 1, [batch(1, 0, [1_000, 1_000]), batch(2, 2, [1_000, 1_000, 9_000])]),
    )
    await test.telemetry.storeCounters('n-2', counters(startMs, 1, [batch(4, 0, [9_000])]))
    const range = { fromMs: startMs, toMs: startMs + 4 * minuteMs, stepMs: minuteMs }
    const [all, ...none] = (
      await test.telemetry.queryColumns({
        ...range,
        by: [],
        measures: ['requests', 'errors', 'bytesOut', 'p50Ms'],
      })
    ).series
    expect(none).toEqual([])
    expect(all).toEqual({
      key: {},
      columns: {
        requests: [7, 0, 3, 0],
        errors: [2, 0, 1, 0],
        bytesOut: [20, 0, 10, 0],
        p50Ms: [expect.closeTo(1, 1), null, expect.closeTo(1, 1), null],
      },
    })
    const two = await test.telemetry.queryColumns({
      ...range,
      by: ['node', 'router'],
      measures: ['requests'],
      nodes: ['edge-2'],
    })
    expect(two.series).toEqual([
      { key: { node: 'edge-2', router: 'shop' }, columns: { requests: [5, 0, 0, 0] } },
    ])
    const tooMany = { ...range, toMs: startMs + 200_000 * minuteMs }
    await expect(
      test.telemetry.queryColumns({ ...tooMany, by: ['router'], measures: ['requests'] }),
    ).rejects.toThrow('is too small for the range')
  })
})

describe('sums of traffic', () => {
  beforeEach(async () => {
    const breakdown = { codeDeltas: [READ, WRITE - READ], counts: [3n, 1n] }
    const shop = { router: 'shop', success: 3, serverError: 1, breakdown }
    await test.telemetry.storeCounters(
      'n-1',
      counters(startMs, 1, [
        { ...shop, latenciesUs: [1_000, 1_000, 1_000, 9_000] },
        { ...shop, minute: 61, latenciesUs: [1_000, 1_000, 1_000, 9_000] },
        { router: 'blog', service: 'blog', success: 5 },
      ]),
    )
    await test.telemetry.storeCounters('n-2', counters(startMs, 1, [{ ...shop, minute: 1 }]))
  })

  it.each([
    ['nothing', {}, { '': 17 }],
    ['nodes', { by: ['node'] }, { 'edge-1': 13, 'edge-2': 4 }],
    ['routers', { by: ['router'] }, { blog: 5, shop: 12 }],
    [
      'nodes and routers',
      { by: ['node', 'router'] },
      { 'edge-1 blog': 5, 'edge-1 shop': 8, 'edge-2 shop': 4 },
    ],
    ['status', { by: ['status'] }, { serverError: 3, success: 14 }],
    ['method', { by: ['method'] }, { read: 9, write: 3 }],
    [
      'node and outcome',
      { by: ['node', 'outcome'] },
      {
        'edge-1 origin-answered': 6,
        'edge-1 proxy-answered': 2,
        'edge-2 origin-answered': 3,
        'edge-2 proxy-answered': 1,
      },
    ],
    ['router, of one node', { by: ['router'], nodes: ['edge-2'] }, { shop: 4 }],
    ['node, of one router', { by: ['node'], routers: ['blog'] }, { 'edge-1': 5 }],
    [
      'protocol, of one status',
      { by: ['protocol'], filter: { status: ['serverError'] } },
      { 'http/1.0': 3 },
    ],
    ['service, of one method', { by: ['service'], filter: { method: ['write'] } }, { shop: 3 }],
  ] satisfies [string, Partial<AnalyticsQuery>, Record<string, number>][])(
    'are by %s',
    async (_name, query, expected) => {
      expect(await totals(query)).toEqual(expected)
    },
  )

  it.each([1, 60, 1_440])('are the same in steps of %d minutes', async (minutes) => {
    const answer = await ask({ stepMs: minutes * minuteMs })
    const points = answer.series.flatMap(({ points }) => points)
    expect(points.reduce((sum, { requests }) => sum + requests, 0)).toBe(17)
    expect(points).toHaveLength(minutes === 1 ? 3 : minutes === 60 ? 2 : 1)
    expect(answer.resolutionMs).toBe(minutes * minuteMs)
  })

  it('are of exactly the range that was asked for', async () => {
    const range = { fromMs: startMs + minuteMs, toMs: startMs + 61 * minuteMs }
    expect(await totals({ by: ['node'], ...range })).toEqual({ 'edge-2': 4 })
  })

  it('are the same after a restart and a batch that came again', async () => {
    await test.restart()
    await test.telemetry.storeCounters('n-2', counters(startMs, 1, [{ success: 100 }]))
    expect(await totals({})).toEqual({ '': 17 })
  })

  it('have percentiles of merged histograms', async () => {
    const { series } = await ask({ routers: ['shop'], percentiles: [0.99, 0.5] })
    const latency = series[0]?.points[0]?.latency
    expect(latency?.count).toBe(8)
    expect(latency?.percentilesMs[0]).toBeCloseTo(9, 0)
    expect(latency?.percentilesMs[1]).toBeCloseTo(1, 1)
  })

  it('are spread over doublings of their duration', async () => {
    const query = { fromMs: startMs, toMs: startMs + dayMs, stepMs: dayMs, routers: ['shop'] }
    const { boundsMs, columns } = await test.telemetry.queryHeatmap(query)
    expect(columns).toHaveLength(1)
    const counts = columns[0]?.counts ?? []
    const spread = boundsMs.map((bound, at) => [bound, counts[at]])
    expect(spread.filter(([, count]) => count !== 0)).toEqual([
      [1.024, 6],
      [16.384, 2],
    ])
  })

  it('have no latency of a part that is not measured apart', async () => {
    const { series } = await ask({ filter: { method: ['read'] } })
    expect(series[0]?.points[0]).toMatchObject({ requests: 9, latency: null, bytesIn: null })
  })

  it('of hours and days outlive minutes', async () => {
    test.nowMs = startMs + 20 * dayMs
    const answer = await ask()
    expect(answer).toMatchObject({ stepMs: dayMs, resolutionMs: dayMs })
    expect(answer.series[0]?.points[0]?.requests).toBe(17)
  })
})

it.each([
  ['a range that ends before it begins', { toMs: startMs }, 'to'],
  ['a step that is not of whole minutes', { stepMs: 90_000 }, 'step'],
  ['three dimensions', { by: ['node', 'router', 'service'] }, 'by'],
  ['one dimension twice', { by: ['node', 'node'] }, 'by'],
  ['a share above 1', { percentiles: [1.1] }, 'percentiles'],
] satisfies [string, Partial<AnalyticsQuery>, string][])(
  'refuses %s',
  async (_name, query, field) => {
    await expect(ask(query)).rejects.toMatchObject({ field })
  },
)

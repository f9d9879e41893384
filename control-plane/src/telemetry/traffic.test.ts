import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { bucketMiddle, bucketOf } from './histogram.ts'
import { counters, minuteMs, type RowOfTest } from './testing/batches.ts'
import { day, dayMs, startMs, stored, TestTelemetry } from './testing/test-telemetry.ts'

let test: TestTelemetry

beforeEach(async () => {
  test = await TestTelemetry.open()
})

afterEach(() => test.remove())

describe('traffic', () => {
  it('is summed by node, router and service in steps, over days', async () => {
    test.nowMs = startMs + 5 * dayMs
    const perNode = 4 * 1_440
    for (const [node, success] of [
      ['n-1', 1],
      ['n-2', 10],
    ] as const) {
      const rows: RowOfTest[] = Array.from({ length: perNode }, (_, minute) => ({
        minute,
        router: minute % 2 === 0 ? 'even' : 'odd',
        service: 'shop',
        success,
        serverError: 1,
        bytesIn: 2,
        bytesOut: 3,
      }))
      expect(await test.telemetry.storeCounters(node, counters(startMs, 1, rows))).toEqual(stored)
    }
    const range = { fromMs: startMs, toMs: startMs + 4 * dayMs, stepMs: dayMs }
    const byRouter = await test.telemetry.queryTraffic({ by: 'router', ...range })
    expect(byRouter.series.map(({ key, points }) => [key, points.length])).toEqual([
      ['even', 4],
      ['odd', 4],
    ])
    expect(byRouter.series[0]?.points[3]).toEqual({
      time: '2026-06-04T00:00:00.000Z',
      requests: {
        total: 720 * 13,
        informational: 0,
        success: 720 * 11,
        redirection: 0,
        clientError: 0,
        serverError: 720 * 2,
        none: 0,
      },
      bytesIn: 720 * 4,
      bytesOut: 720 * 6,
      latency: { count: 0, meanMs: 0, p50Ms: 0, p90Ms: 0, p99Ms: 0 },
    })
    const byNode = await test.telemetry.queryTraffic({ by: 'node', ...range, stepMs: 4 * dayMs })
    expect(byNode.series.map(({ key, points }) => [key, points[0]?.requests.total])).toEqual([
      ['edge-1', perNode * 2],
      ['edge-2', perNode * 11],
    ])
    const byService = await test.telemetry.queryTraffic({
      by: 'service',
      ...range,
      stepMs: minuteMs,
    })
    expect(byService.series[0]?.points).toHaveLength(perNode)
  })

  it('has percentiles of all requests of a step, not of parts', async () => {
    const fast = Array.from({ length: 900 }, (_, at) => 1_000 + at)
    const slow = Array.from({ length: 100 }, (_, at) => 500_000 + at * 1_000)
    await test.telemetry.storeCounters('n-1', counters(startMs, 1, [{ latenciesUs: fast }]))
    await test.telemetry.storeCounters('n-1', counters(startMs, 2, [{ latenciesUs: slow }]))
    await test.telemetry.storeCounters(
      'n-2',
      counters(startMs, 1, [{ minute: 1, latenciesUs: fast }]),
    )
    const { series } = await test.telemetry.queryTraffic({ by: 'router', ...day })
    const all = [...fast, ...fast, ...slow].sort((a, b) => a - b)
    const exactMs = (share: number) => {
      const exactUs = all[Math.ceil(share * all.length) - 1] ?? 0
      return Math.round(bucketMiddle(bucketOf(exactUs))) / 1_000
    }
    expect(series[0]?.points[0]?.latency).toEqual({
      count: all.length,
      meanMs: Math.round(all.reduce((sum, value) => sum + value, 0) / all.length) / 1_000,
      p50Ms: exactMs(0.5),
      p90Ms: exactMs(0.9),
      p99Ms: exactMs(0.99),
    })
  })

  it('takes whole minutes around the range, and only those', async () => {
    const rows = [0, 1, 2, 3].map((minute) => ({ minute, success: 10 ** minute }))
    await test.telemetry.storeCounters('n-1', counters(startMs, 1, rows))
    const answer = await test.telemetry.queryTraffic({
      by: 'router',
      fromMs: startMs + minuteMs + 1,
      toMs: startMs + 2 * minuteMs + 1,
    })
    expect(answer).toMatchObject({
      by: 'router',
      from: '2026-06-01T00:01:00.000Z',
      to: '2026-06-01T00:03:00.000Z',
      stepMs: 2 * minuteMs,
      series: [{ key: 'shop', points: [{ time: '2026-06-01T00:01:00.000Z' }] }],
    })
    expect(answer.series[0]?.points[0]?.requests.total).toBe(110)
  })

  it('is told for requests without router and service too', async () => {
    await test.telemetry.storeCounters(
      'n-1',
      counters(startMs, 1, [{ router: '', service: '', success: 2 }]),
    )
    expect(await test.totals('router')).toEqual({ '': 2 })
    expect(await test.totals('service')).toEqual({ '': 2 })
  })

  it.each([
    ['to', { fromMs: startMs, toMs: startMs }],
    ['to', { fromMs: startMs, toMs: Number.NaN }],
    ['from', { fromMs: -1, toMs: startMs }],
    ['step', { ...day, stepMs: 30_000 }],
    ['step', { ...day, stepMs: 90_000 }],
  ])('refuses a bad %s', async (field, query) => {
    await expect(test.telemetry.queryTraffic({ by: 'node', ...query })).rejects.toMatchObject({
      name: 'TelemetryQueryError',
      field,
    })
  })
})

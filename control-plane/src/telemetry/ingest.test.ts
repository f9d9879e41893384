import type { CounterBatch } from '@sluice/proto'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { counters, logs } from './testing/batches.ts'
import { dayMs, repeated, startMs, stored, TestTelemetry } from './testing/test-telemetry.ts'

let test: TestTelemetry

beforeEach(async () => {
  test = await TestTelemetry.open()
})

afterEach(() => test.remove())

describe('counter batches', () => {
  it('count once, however often they are sent, over a restart too', async () => {
    const first = counters(startMs, 1, [{ success: 3, bytesIn: 10, bytesOut: 20 }])
    expect(await test.telemetry.storeCounters('n-1', first)).toEqual(stored)
    expect(await test.telemetry.storeCounters('n-1', first)).toEqual(repeated)
    await test.restart()
    expect(await test.telemetry.storeCounters('n-1', first)).toEqual(repeated)
    const second = counters(startMs, 2, [{ success: 4 }])
    expect(await test.telemetry.storeCounters('n-1', second)).toEqual(stored)
    expect(await test.telemetry.storeCounters('n-1', first)).toEqual(repeated)
    expect(await test.totals()).toEqual({ shop: 7 })
  })

  it('count once when the same one comes many times at once', async () => {
    const batch = counters(startMs, 1, [{ success: 5 }])
    const results = await Promise.all(
      Array.from({ length: 50 }, () => test.telemetry.storeCounters('n-1', batch)),
    )
    expect(results.filter((result) => result.kind === 'stored' && !result.isRepeated)).toHaveLength(
      1,
    )
    expect(await test.totals()).toEqual({ shop: 5 })
  })

  it('have sequences of their own for each node and boot', async () => {
    const rows = [{ success: 1 }]
    await test.telemetry.storeCounters('n-1', counters(startMs, 1, rows, 'a'))
    await test.telemetry.storeCounters('n-1', counters(startMs, 1, rows, 'b'))
    await test.telemetry.storeCounters('n-2', counters(startMs, 1, rows, 'a'))
    await test.telemetry.storeLogs('n-1', logs(1, [], 'a'))
    expect(await test.totals('node')).toEqual({ 'edge-1': 2, 'edge-2': 1 })
  })

  it('are stored after others that this database has lost, and say how many those were', async () => {
    await test.telemetry.storeCounters('n-1', counters(startMs, 1, [{ success: 1 }]))
    const later = counters(startMs, 4, [{ success: 2 }])
    expect(await test.telemetry.storeCounters('n-1', later)).toEqual({ ...stored, missing: 2 })
    expect(await test.telemetry.storeCounters('n-1', later)).toEqual(repeated)
    expect(await test.totals()).toEqual({ shop: 3 })
  })

  it('may hold several rows of one minute, router and service', async () => {
    await test.telemetry.storeCounters(
      'n-1',
      counters(startMs, 1, [{ success: 1 }, { success: 2 }]),
    )
    expect(await test.totals()).toEqual({ shop: 3 })
  })

  it('add up exactly when hundreds of nodes report at once', async () => {
    const rows = Array.from({ length: 20 }, (_, at) => ({ router: `r-${at}`, success: at + 1 }))
    const results = await Promise.all(
      Array.from({ length: 200 }, (_, node) =>
        test.telemetry.storeCounters(`n-${node}`, counters(startMs, 1, rows)),
      ),
    )
    expect(new Set(results.map((result) => result.kind))).toEqual(new Set(['stored']))
    expect(Object.values(await test.totals()).reduce((a, b) => a + b)).toBe(200 * 210)
  })

  const wrong: [string, (batch: CounterBatch) => void, RegExp][] = [
    ['no boot id', (batch) => assign(batch, { bootId: '' }), /^boot_id/],
    ['a boot id too long', (batch) => assign(batch, { bootId: 'x'.repeat(65) }), /^boot_id/],
    ['sequence 0', (batch) => assign(batch, { sequence: 0n }), /^sequence 0 /],
    ['a sequence out of range', (batch) => assign(batch, { sequence: 2n ** 60n }), /^sequence/],
    ['part of a minute', (batch) => assign(batch.rows[0], { minuteMs: 60_001n }), /whole minute/],
    [
      'a minute far ahead',
      (batch) => assign(batch.rows[0], { minuteMs: BigInt(startMs + 3 * dayMs) }),
      /more than a day ahead/,
    ],
    [
      'a router that cannot be one',
      (batch) => assign(batch.rows[0], { router: 'A b' }),
      /^rows\[0\]\.router/,
    ],
    [
      'a service name too long',
      (batch) => assign(batch.rows[0], { service: 'x'.repeat(64) }),
      /^rows\[0\]\.service/,
    ],
    [
      'a count too large',
      (batch) => assign(batch.rows[0]?.requests, { success: 2n ** 60n }),
      /^rows\[0\]\.requests\.success/,
    ],
    ['bytes too large', (batch) => assign(batch.rows[0], { bytesIn: 2n ** 60n }), /bytes_in/],
    [
      'a histogram out of range',
      (batch) => assign(batch.rows[0]?.latency, { indexDeltas: [5_000], counts: [1n] }),
      /^rows\[0\]\.latency\.indexDeltas\[0\]/,
    ],
    [
      'too many rows',
      (batch) => assign(batch, { rows: Array(32_769).fill(batch.rows[0]) }),
      /^rows has 32769 entries/,
    ],
  ]

  it.each(wrong)('are refused whole with %s', async (_name, spoil, reason) => {
    const batch = counters(startMs, 1, [{ success: 1 }, { router: 'other', success: 1 }])
    spoil(batch)
    expect(await test.telemetry.storeCounters('n-1', batch)).toEqual({
      kind: 'refused',
      reason: expect.stringMatching(reason),
    })
    expect(await test.totals()).toEqual({})
    expect(await test.telemetry.storeCounters('n-1', counters(startMs, 1, []))).toEqual(stored)
  })
})

function assign(target: object | undefined, change: object): void {
  Object.assign(target ?? {}, change)
}

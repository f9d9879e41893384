import { expect, it } from 'vitest'
import type { TrafficDelta } from '../worker-protocol.ts'
import { countRequests, TrafficTable } from './traffic-table.ts'

const MINUTE_MS = 60_000

function delta(minuteMs: number, router: string, service = 's'): TrafficDelta {
  return {
    minuteMs,
    router,
    service,
    requests: Float64Array.of(1, 2, 3, 4, 5, 6),
    bytesIn: 10,
    bytesOut: 20,
    latency: Uint32Array.of(3, 1, 70, 20),
    latencySumUs: 1_234,
    firstByte: Uint32Array.of(4, 2),
    firstByteSumUs: 8,
    breakdown: Uint32Array.of(1, 2, 7, 3),
    retries: 1,
  }
}

it('gives back what was added, through the form that travels', () => {
  const table = new TrafficTable()
  table.add(delta(0, 'a'))
  table.add(delta(0, 'a'))
  table.add(delta(MINUTE_MS, 'b'))
  const rows = table.take()
  expect(table.size).toBe(0)
  const again = new TrafficTable()
  again.addRows(rows)
  expect(again.peek()).toEqual(rows)
  expect(rows[0]).toMatchObject({
    requests: { informational: 2n, success: 4n, none: 12n },
    bytesIn: 20n,
    latency: { indexDeltas: [3, 67], counts: [2n, 40n], sumUs: 2_468n },
    firstByte: { indexDeltas: [4], counts: [4n], sumUs: 16n },
    breakdown: { codeDeltas: [1, 6], counts: [4n, 6n] },
    retries: 2n,
  })
})

it('takes the oldest minutes first, at least one row, and no more than fits', () => {
  const table = new TrafficTable()
  table.add(delta(2 * MINUTE_MS, 'late'))
  table.add(delta(0, 'early'))
  expect(table.take(1).map(({ router }) => router)).toEqual(['early'])
  expect(table.take(1).map(({ router }) => router)).toEqual(['late'])
})

it('makes old minutes coarser at its bound, then names, and loses no request', () => {
  const table = new TrafficTable(100)
  let added = 0
  for (let minute = 0; minute < 300; minute += 1) {
    for (const router of ['a', 'b', 'c']) {
      table.add(delta(minute * MINUTE_MS, router))
      added += 21
    }
    expect(table.size).toBeLessThanOrEqual(100)
  }
  const rows = table.peek()
  expect(countRequests({ rows })).toBe(added)
  expect(table.coarsened).toBeGreaterThan(0)
  expect(rows.some(({ minuteMs, router }) => minuteMs === 0n && router === 'a')).toBe(true)
  expect(rows.reduce((sum, { bytesIn }) => sum + bytesIn, 0n)).toBe(9_000n)
})

it('folds routers into the empty one when a single minute has too many', () => {
  const table = new TrafficTable(50)
  for (let router = 0; router < 500; router += 1) table.add(delta(0, `r${router}`))
  const rows = table.peek()
  expect(rows.length).toBeLessThanOrEqual(50)
  expect(countRequests({ rows })).toBe(500 * 21)
  expect(rows.some(({ router, service }) => router === '' && service === '')).toBe(true)
})

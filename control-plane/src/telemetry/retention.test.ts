import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { telemetryLimits } from './limits.ts'
import { countStoredRows, Retention } from './retention.ts'
import { counters, logs, minuteMs } from './testing/batches.ts'
import { dayMs, startMs, TestTelemetry } from './testing/test-telemetry.ts'

let test: TestTelemetry

beforeEach(async () => {
  test = await TestTelemetry.open()
})

afterEach(() => test.remove())

describe('retention', () => {
  it('removes what is too old, oldest first, in steps', async () => {
    const rows = Array.from({ length: 1_200 }, (_, minute) => ({ minute, success: 1 }))
    await test.telemetry.storeCounters('n-1', counters(startMs, 1, rows))
    const lines = Array.from({ length: 1_200 }, (_, at) => ({ timeMs: BigInt(startMs + at) }))
    await test.telemetry.storeLogs('n-1', logs(1, lines))
    const kept = await countStoredRows(test.db, test.nowMs, dayMs)
    expect(kept).toEqual({ traffic: 1_200, logs: 1_200 })
    const retention = new Retention(test.db, kept, {
      ...telemetryLimits,
      trafficAgeMsMax: 1_000,
      logAgeMsMax: 1_000,
      rowsPerRemoval: 100,
    })
    await retention.run(startMs + 1_000 + 600 * minuteMs)
    expect(kept).toEqual({ traffic: 600, logs: 0 })
    expect(await countStoredRows(test.db, test.nowMs, dayMs)).toEqual(kept)
    expect(await test.totals()).toEqual({ shop: 600 })
  })

  it('removes the oldest of what is too much', async () => {
    const rows = Array.from({ length: 50 }, (_, minute) => ({ minute, success: 1 }))
    await test.telemetry.storeCounters('n-1', counters(startMs, 1, rows))
    const lines = Array.from({ length: 50 }, (_, at) => ({ timeMs: BigInt(startMs + at) }))
    await test.telemetry.storeLogs('n-1', logs(1, lines))
    const kept = await countStoredRows(test.db, test.nowMs, dayMs)
    const limits = { ...telemetryLimits, trafficRowsMax: 30, logLinesMax: 20, rowsPerRemoval: 7 }
    await new Retention(test.db, kept, limits).run(test.nowMs)
    expect(kept).toEqual({ traffic: 30, logs: 20 })
    const { items } = await test.telemetry.queryLogs({})
    expect([items.length, items.at(-1)?.id]).toEqual([20, '31'])
  })

  it('forgets boots that have long been silent, and the oldest of too many', async () => {
    for (const boot of ['a', 'b', 'c']) {
      test.nowMs += 1
      await test.telemetry.storeCounters('n-1', counters(startMs, 1, [], boot))
    }
    const kept = { traffic: 0, logs: 0 }
    const boots = async () =>
      (await test.db.selectFrom('batch').select('boot_id').execute()).map((row) => row.boot_id)
    await new Retention(test.db, kept, { ...telemetryLimits, bootsPerNodeMax: 2 }).run(test.nowMs)
    expect(await boots()).toEqual(['b', 'c'])
    await new Retention(test.db, kept, telemetryLimits).run(
      test.nowMs + telemetryLimits.batchAgeMsMax,
    )
    expect(await boots()).toEqual(['c'])
  })
})

/**
 * Sums of minute rows by minute, hour and day, for questions over long times and many nodes. They are added
 * in the transaction that stores the minute rows, so they are as exact as these; a transaction takes the
 * batches of many nodes, so what it adds here is few rows beside the minute rows themselves.
 */
import { findRollups, type RollupKey, type RollupRecord, saveRollups } from '../store/rollups.ts'
import type { TelemetryTransaction, TrafficRecord } from '../store/telemetry.ts'
import { telemetryLimits as limits } from './limits.ts'
import { MeasureSum } from './measure-sum.ts'

/** What rows are summed by. */
export const cubes = Object.freeze({ fleet: 0, node: 1 })
export const levelsMs = Object.freeze({ minute: 60_000, hour: 3_600_000, day: 86_400_000 })

interface Entry {
  readonly key: RollupKey
  readonly sum: MeasureSum
}

export class RollupSums {
  readonly #nodes = new Entries()
  #last: Entry | undefined

  add(row: TrafficRecord): void {
    const { minute_ms: start_ms, node } = row
    // A batch is many rows of one node, and nearly all of one minute.
    if (this.#last?.key.start_ms !== start_ms || this.#last.key.node !== node) {
      const key = { cube: cubes.node, level_ms: levelsMs.minute, start_ms, node }
      this.#last = this.#nodes.of({ ...key, router: '', service: '' })
    }
    this.#last.sum.add(row)
  }

  async write(tx: TelemetryTransaction): Promise<void> {
    const nodes = this.#nodes.rows()
    const fleet = new Entries()
    for (const row of nodes) fleet.of({ ...row, cube: cubes.fleet, node: '' }).sum.add(row)
    const minutes = [...nodes, ...fleet.rows()]
    const hours = coarser(minutes, levelsMs.hour)
    const rows = [...minutes, ...hours, ...coarser(hours, levelsMs.day)]
    for (let at = 0; at < rows.length; at += limits.rowsPerStatement) {
      await addRollups(tx, rows.slice(at, at + limits.rowsPerStatement))
    }
  }
}

class Entries {
  readonly #byKey = new Map<string, Entry>()

  of(key: RollupKey): Entry {
    const text = textOf(key)
    let entry = this.#byKey.get(text)
    if (entry === undefined) {
      entry = { key, sum: new MeasureSum() }
      this.#byKey.set(text, entry)
    }
    return entry
  }

  rows(): RollupRecord[] {
    return [...this.#byKey.values()].map(({ key, sum }) => toRecord(key, sum))
  }
}

function coarser(rows: readonly RollupRecord[], levelMs: number): RollupRecord[] {
  const entries = new Entries()
  for (const row of rows) {
    const start_ms = Math.floor(row.start_ms / levelMs) * levelMs
    entries.of({ ...row, level_ms: levelMs, start_ms }).sum.add(row)
  }
  return entries.rows()
}

/** Adds rows with different keys. */
async function addRollups(tx: TelemetryTransaction, rows: readonly RollupRecord[]): Promise<void> {
  const present = new Map<string, RollupRecord>()
  for (const row of await findRollups(tx, rows)) present.set(textOf(row), row)
  const merged = rows.map((row) => {
    const other = present.get(textOf(row))
    if (other === undefined) return row
    const sum = new MeasureSum()
    sum.add(other)
    sum.add(row)
    return toRecord(row, sum)
  })
  await saveRollups(tx, merged)
}

function toRecord(key: RollupKey, sum: MeasureSum): RollupRecord {
  const { cube, level_ms, start_ms, node, router, service } = key
  return { cube, level_ms, start_ms, node, router, service, ...sum.toMeasures() }
}

function textOf(key: RollupKey): string {
  return `${key.cube} ${key.level_ms} ${key.start_ms} ${key.node} ${key.router} ${key.service}`
}

/**
 * Reads the rows that a question about traffic is answered from: sums by minute, hour and day where these
 * keep the wanted names apart, else the minute rows themselves.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { TelemetryDatabase } from '../store/database.ts'
import { type NameFilter, type RollupRecord, readRollups } from '../store/rollups.ts'
import { readTraffic, type TrafficRecord } from '../store/telemetry.ts'
import type { Measures } from '../store/telemetry-tables.ts'
import { telemetryLimits as limits } from './limits.ts'
import { cubes, levelsMs } from './rollup-sums.ts'

/** What the rows are of. */
export interface SumRow extends Measures {
  readonly start_ms: number
  readonly node: string
  readonly router: string
  readonly service: string
}

export interface SumSegment {
  readonly levelMs: number
  readonly fromMs: number
  readonly toMs: number
}

/** The cube that keeps these names apart; undefined: only the minute rows do. */
export function cubeFor(names: ReadonlySet<string>): number | undefined {
  if (names.has('router') || names.has('service')) return undefined
  return names.has('node') ? cubes.node : cubes.fleet
}

/**
 * Days in the middle of a range, hours beside them, minutes at its ends: few rows, and still exactly the
 * range. `finestMs`: the finest level to use.
 */
export function segmentsOf(
  fromMs: number,
  toMs: number,
  finestMs: number,
  coarsestMs: number = levelsMs.day,
): SumSegment[] {
  if (toMs <= fromMs) return []
  const levelMs = Math.max(coarsestMs, finestMs)
  const startMs = Math.ceil(fromMs / levelMs) * levelMs
  const endMs = Math.floor(toMs / levelMs) * levelMs
  if (levelMs === finestMs) return [{ levelMs, fromMs, toMs }]
  const finer = levelMs === levelsMs.day ? levelsMs.hour : levelsMs.minute
  if (startMs >= endMs) return segmentsOf(fromMs, toMs, finestMs, finer)
  return [
    ...segmentsOf(fromMs, startMs, finestMs, finer),
    { levelMs, fromMs: startMs, toMs: endMs },
    ...segmentsOf(endMs, toMs, finestMs, finer),
  ]
}

/** Pages of rows in the order of time. */
export async function* readSums(
  db: TelemetryDatabase,
  cube: number,
  segments: readonly SumSegment[],
  filter: NameFilter,
): AsyncGenerator<readonly SumRow[]> {
  for (const segment of segments) {
    let after: RollupRecord | undefined
    do {
      const page = { after, limit: limits.rowsPerRead }
      const rows = await readRollups(db, { cube, ...segment }, page, filter)
      yield rows
      after = rows.length < limits.rowsPerRead ? undefined : rows.at(-1)
      await nextTurn()
    } while (after !== undefined)
  }
}

export async function* readMinutes(
  db: TelemetryDatabase,
  range: Pick<SumSegment, 'fromMs' | 'toMs'>,
  filter: NameFilter,
): AsyncGenerator<readonly SumRow[]> {
  let after: TrafficRecord | undefined
  do {
    const rows = await readTraffic(db, { ...range, after }, limits.rowsPerRead, filter)
    yield rows.map((row) => ({ ...row, start_ms: row.minute_ms }))
    after = rows.length < limits.rowsPerRead ? undefined : rows.at(-1)
    await nextTurn()
  } while (after !== undefined)
}

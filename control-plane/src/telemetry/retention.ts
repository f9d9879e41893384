/** Removes what is too old or too much, in small steps, so that no statement holds up the event loop. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { TelemetryDatabase } from '../store/database.ts'
import { removeRollups } from '../store/rollups.ts'
import {
  countLogs,
  countTraffic,
  findOldestMinute,
  removeBatches,
  removeLogs,
  removeTraffic,
} from '../store/telemetry.ts'
import type { StoredRows } from './ingest.ts'
import { cubes, levelsMs } from './rollup-sums.ts'

export interface RetentionLimits {
  readonly trafficAgeMsMax: number
  readonly trafficRowsMax: number
  readonly minuteSumsAgeMsMax: number
  readonly hourSumsAgeMsMax: number
  readonly daySumsAgeMsMax: number
  readonly logAgeMsMax: number
  readonly logLinesMax: number
  readonly batchAgeMsMax: number
  readonly bootsPerNodeMax: number
  readonly rowsPerRemoval: number
}

const countedAtOnceMs = 3_600_000

/** Counts what a database holds when it is opened; later changes are added up by those who make them. */
export async function countStoredRows(
  db: TelemetryDatabase,
  nowMs: number,
  aheadMsMax: number,
): Promise<StoredRows> {
  let traffic = 0
  const endMs = nowMs + aheadMsMax
  for (
    let fromMs = (await findOldestMinute(db)) ?? endMs + 1;
    fromMs <= endMs;
    fromMs += countedAtOnceMs
  ) {
    traffic += await countTraffic(db, fromMs, fromMs + countedAtOnceMs)
    await nextTurn()
  }
  return { traffic, logs: await countLogs(db) }
}

export class Retention {
  readonly #db: TelemetryDatabase
  readonly #rows: StoredRows
  readonly #limits: RetentionLimits
  #isStopped = false

  constructor(db: TelemetryDatabase, rows: StoredRows, limits: RetentionLimits) {
    this.#db = db
    this.#rows = rows
    this.#limits = limits
  }

  /** Ends a run that is under way at its next step. */
  stop(): void {
    this.#isStopped = true
  }

  async run(nowMs: number): Promise<void> {
    const limits = this.#limits
    await this.#remove('traffic', nowMs - limits.trafficAgeMsMax, Number.POSITIVE_INFINITY)
    await this.#remove(
      'traffic',
      Number.MAX_SAFE_INTEGER,
      this.#rows.traffic - limits.trafficRowsMax,
    )
    await this.#remove('logs', nowMs - limits.logAgeMsMax, Number.POSITIVE_INFINITY)
    await this.#remove('logs', Number.MAX_SAFE_INTEGER, this.#rows.logs - limits.logLinesMax)
    await this.#removeSums(levelsMs.minute, nowMs - limits.minuteSumsAgeMsMax)
    await this.#removeSums(levelsMs.hour, nowMs - limits.hourSumsAgeMsMax)
    await this.#removeSums(levelsMs.day, nowMs - limits.daySumsAgeMsMax)
    if (!this.#isStopped) {
      await removeBatches(this.#db, nowMs - limits.batchAgeMsMax, limits.bootsPerNodeMax)
    }
  }

  /** Removes the oldest rows before a time, at most `rows` of them. */
  async #remove(table: keyof StoredRows, beforeMs: number, rows: number): Promise<void> {
    const removeSome = table === 'traffic' ? removeTraffic : removeLogs
    let left = rows
    while (left > 0 && !this.#isStopped) {
      const limit = Math.min(left, this.#limits.rowsPerRemoval)
      const removed = await removeSome(this.#db, beforeMs, limit)
      this.#rows[table] -= removed
      left -= removed
      if (removed < limit) {
        return
      }
      await nextTurn()
    }
  }

  async #removeSums(levelMs: number, beforeMs: number): Promise<void> {
    const limit = this.#limits.rowsPerRemoval
    for (const cube of Object.values(cubes)) {
      let removed = limit
      while (removed === limit && !this.#isStopped) {
        removed = await removeRollups(this.#db, { cube, levelMs }, beforeMs, limit)
        await nextTurn()
      }
    }
  }
}

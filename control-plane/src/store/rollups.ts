/** SQL of the sums by minute, hour and day in telemetry.db. */
import { type Selectable, sql } from 'kysely'
import type { TelemetryDatabase } from './database.ts'
import type { TelemetryTransaction } from './telemetry.ts'
import type { RollupTable } from './telemetry-tables.ts'

export type RollupRecord = Selectable<RollupTable>
export type RollupKey = Pick<
  RollupTable,
  'cube' | 'level_ms' | 'start_ms' | 'node' | 'router' | 'service'
>

export interface RollupRange {
  readonly cube: number
  readonly levelMs: number
  readonly fromMs: number
  readonly toMs: number
}

export interface NameFilter {
  readonly nodes?: readonly string[] | undefined
  readonly routers?: readonly string[] | undefined
  readonly services?: readonly string[] | undefined
}

export async function findRollups(
  tx: TelemetryTransaction,
  keys: readonly RollupKey[],
): Promise<RollupRecord[]> {
  const values = sql.join(
    keys.map(
      (key) =>
        sql`(${key.cube}, ${key.level_ms}, ${key.start_ms}, ${key.node}, ${key.router}, ${key.service})`,
    ),
  )
  return tx
    .selectFrom('rollup')
    .selectAll()
    .where(sql<boolean>`(cube, level_ms, start_ms, node, router, service) in (values ${values})`)
    .execute()
}

/** Rows come merged with what was there, and replace it. */
export async function saveRollups(
  tx: TelemetryTransaction,
  rows: readonly RollupRecord[],
): Promise<void> {
  await tx.replaceInto('rollup').values(rows).execute()
}

/** Rows of one cube and level in the order of their keys, from just after `after`. */
export async function readRollups(
  db: TelemetryDatabase,
  range: RollupRange,
  page: { readonly after: RollupKey | undefined; readonly limit: number },
  filter: NameFilter,
): Promise<RollupRecord[]> {
  const { after, limit } = page
  let query = db
    .selectFrom('rollup')
    .selectAll()
    .where('cube', '=', range.cube)
    .where('level_ms', '=', range.levelMs)
    .where('start_ms', '>=', after?.start_ms ?? range.fromMs)
    .where('start_ms', '<', range.toMs)
  if (after !== undefined) {
    query = query.where(
      sql<boolean>`(start_ms, node, router, service) > (${after.start_ms}, ${after.node}, ${after.router}, ${after.service})`,
    )
  }
  if (filter.nodes !== undefined) query = query.where('node', 'in', filter.nodes)
  if (filter.routers !== undefined) query = query.where('router', 'in', filter.routers)
  if (filter.services !== undefined) query = query.where('service', 'in', filter.services)
  return query
    .orderBy('start_ms')
    .orderBy('node')
    .orderBy('router')
    .orderBy('service')
    .limit(limit)
    .execute()
}

/** Removes at most `limit` of the oldest rows of a cube and level before a time; tells how many. */
export async function removeRollups(
  db: TelemetryDatabase,
  range: Pick<RollupRange, 'cube' | 'levelMs'>,
  beforeMs: number,
  limit: number,
): Promise<number> {
  const result = await sql`
    delete from rollup where (cube, level_ms, start_ms, node, router, service) in (
      select cube, level_ms, start_ms, node, router, service from rollup
      where cube = ${range.cube} and level_ms = ${range.levelMs} and start_ms < ${beforeMs}
      order by start_ms limit ${limit}
    )`.execute(db)
  return Number(result.numAffectedRows ?? 0n)
}

/** SQL of telemetry.db: batches, traffic by minute, kept requests. */
import {
  type Expression,
  type Insertable,
  type RawBuilder,
  type Selectable,
  type SqlBool,
  sql,
  type Transaction,
} from 'kysely'
import type { TelemetryDatabase } from './database.ts'
import type { NameFilter } from './rollups.ts'
import type { BatchTable, LogTable, TelemetryTables, TrafficTable } from './telemetry-tables.ts'

export type TelemetryTransaction = Transaction<TelemetryTables>
export type TrafficRecord = Selectable<TrafficTable>
export type LogRecord = Selectable<LogTable>
export type NewLogRecord = Insertable<LogTable>
export type BatchKey = Pick<BatchTable, 'node' | 'boot_id' | 'kind'>
export type TrafficKey = Pick<TrafficTable, 'minute_ms' | 'node' | 'router' | 'service'>

/** A place in the order of log lines. */
export interface LogPlace {
  readonly timeMs: number
  readonly id: number
}

/**
 * An acknowledged batch is gone at the node, so it must survive a power cut here: this file waits for the
 * disk at each commit, which is why many batches share one.
 */
export async function makeCommitsDurable(db: TelemetryDatabase): Promise<void> {
  await sql`pragma synchronous = full`.execute(db)
}

export async function inTelemetryTransaction<T>(
  db: TelemetryDatabase,
  work: (transaction: TelemetryTransaction) => Promise<T>,
): Promise<T> {
  return db.transaction().execute(work)
}

/** The sequence of the last stored batch of each key that has one. */
export async function findBatchSequences(
  tx: TelemetryTransaction,
  keys: readonly BatchKey[],
): Promise<(BatchKey & { sequence: number })[]> {
  const wanted = toJson(keys.map((key) => [key.node, key.boot_id, key.kind]))
  const { rows } = await sql<BatchKey & { sequence: number }>`
    select node, boot_id, kind, sequence from json_each(${wanted}) as wanted cross join batch
    where node = wanted.value ->> 0 and boot_id = wanted.value ->> 1 and kind = wanted.value ->> 2
    `.execute(tx)
  return rows
}

export async function saveBatchSequences(
  tx: TelemetryTransaction,
  batches: readonly BatchTable[],
): Promise<void> {
  const rows = batches.map((row) => [
    row.node,
    row.boot_id,
    row.kind,
    row.sequence,
    row.stored_at_ms,
  ])
  await sql`
    insert into batch (node, boot_id, kind, sequence, stored_at_ms)
    select value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4
    from json_each(${toJson(rows)}) where true
    on conflict (node, boot_id, kind) do update set
      sequence = excluded.sequence, stored_at_ms = excluded.stored_at_ms`.execute(tx)
}

/**
 * Many rows as one parameter: a statement with a parameter for each field costs several times as much to build,
 * to parse and to bind.
 */
function toJson(rows: readonly (readonly (string | number)[])[]): string {
  return JSON.stringify(rows)
}

/** Minute rows of [fromMs, toMs) in the order of their keys, from just after `after`. */
export async function readTraffic(
  db: TelemetryDatabase,
  range: { readonly fromMs: number; readonly toMs: number; readonly after: TrafficKey | undefined },
  limit: number,
  filter: NameFilter = {},
): Promise<TrafficRecord[]> {
  const { after } = range
  let query = db
    .selectFrom('traffic')
    .selectAll()
    .where('minute_ms', '>=', after?.minute_ms ?? range.fromMs)
    .where('minute_ms', '<', range.toMs)
  if (after !== undefined) {
    const { minute_ms, node, router, service } = after
    query = query.where(
      sql<boolean>`(minute_ms, node, router, service) > (${minute_ms}, ${node}, ${router}, ${service})`,
    )
  }
  if (filter.nodes !== undefined) query = query.where('node', 'in', filter.nodes)
  if (filter.routers !== undefined) query = query.where('router', 'in', filter.routers)
  if (filter.services !== undefined) query = query.where('service', 'in', filter.services)
  return query
    .orderBy('minute_ms')
    .orderBy('node')
    .orderBy('router')
    .orderBy('service')
    .limit(limit)
    .execute()
}

export async function findOldestMinute(db: TelemetryDatabase): Promise<number | undefined> {
  const row = await db
    .selectFrom('traffic')
    .select('minute_ms')
    .orderBy('minute_ms')
    .limit(1)
    .executeTakeFirst()
  return row?.minute_ms
}

export async function countTraffic(
  db: TelemetryDatabase,
  fromMs: number,
  toMs: number,
): Promise<number> {
  const row = await db
    .selectFrom('traffic')
    .select((eb) => eb.fn.countAll<number>().as('rows'))
    .where('minute_ms', '>=', fromMs)
    .where('minute_ms', '<', toMs)
    .executeTakeFirstOrThrow()
  return row.rows
}

/** Removes at most `limit` of the oldest minute rows before a time; tells how many. */
export async function removeTraffic(
  db: TelemetryDatabase,
  beforeMs: number,
  limit: number,
): Promise<number> {
  const result = await sql`
    delete from traffic where (minute_ms, node, router, service) in (
      select minute_ms, node, router, service from traffic
      where minute_ms < ${beforeMs} order by minute_ms, node, router, service limit ${limit}
    )`.execute(db)
  return Number(result.numAffectedRows ?? 0n)
}

export async function insertLogs(
  tx: TelemetryTransaction,
  rows: readonly NewLogRecord[],
): Promise<void> {
  await tx.insertInto('log').values(rows).execute()
}

export interface LogFilter {
  readonly nodes?: readonly string[] | undefined
  readonly router?: string | undefined
  readonly service?: string | undefined
  /** Both ends included. */
  readonly status?: { readonly from: number; readonly to: number } | undefined
  readonly pathPrefix?: string | undefined
  readonly client?: string | undefined
  readonly method?: string | undefined
}

/** The place `lines` lines before `from`, newest first; undefined when fewer are left. */
export async function findLogPlace(
  db: TelemetryDatabase,
  from: LogPlace,
  lines: number,
): Promise<LogPlace | undefined> {
  const row = await db
    .selectFrom('log')
    .select(['time_ms', 'id'])
    .where(sql<boolean>`(time_ms, id) < (${from.timeMs}, ${from.id})`)
    .orderBy('time_ms', 'desc')
    .orderBy('id', 'desc')
    .limit(1)
    .offset(lines)
    .executeTakeFirst()
  return row === undefined ? undefined : { timeMs: row.time_ms, id: row.id }
}

/** Lines before `from` and not before `until`, newest first. */
export async function readLogs(
  db: TelemetryDatabase,
  range: { readonly from: LogPlace; readonly until: LogPlace; readonly limit: number },
  filter: LogFilter,
): Promise<LogRecord[]> {
  const { from, until, limit } = range
  return db
    .selectFrom('log')
    .selectAll()
    .where(sql<boolean>`(time_ms, id) < (${from.timeMs}, ${from.id})`)
    .where(sql<boolean>`(time_ms, id) >= (${until.timeMs}, ${until.id})`)
    .where(passes(filter))
    .orderBy('time_ms', 'desc')
    .orderBy('id', 'desc')
    .limit(limit)
    .execute()
}

/** Lines that were stored after one, in the order that they were stored in. */
export async function readNewLogs(
  db: TelemetryDatabase,
  afterId: number,
  untilId: number,
  filter: LogFilter,
): Promise<LogRecord[]> {
  return db
    .selectFrom('log')
    .selectAll()
    .where('id', '>', afterId)
    .where('id', '<=', untilId)
    .where(passes(filter))
    .orderBy('id')
    .execute()
}

/** Of the line that was stored last; 0: there is none. */
export async function findLastLogId(db: TelemetryDatabase): Promise<number> {
  const row = await db
    .selectFrom('log')
    .select('id')
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row?.id ?? 0
}

function passes(filter: LogFilter): Expression<SqlBool> {
  const conditions: RawBuilder<SqlBool>[] = [sql`1`]
  if (filter.nodes !== undefined) {
    // An empty list is true of no line.
    conditions.push(filter.nodes.length === 0 ? sql`0` : sql`node in (${sql.join(filter.nodes)})`)
  }
  if (filter.router !== undefined) conditions.push(sql`router = ${filter.router}`)
  if (filter.service !== undefined) conditions.push(sql`service = ${filter.service}`)
  if (filter.status !== undefined) {
    conditions.push(sql`status between ${filter.status.from} and ${filter.status.to}`)
  }
  if (filter.pathPrefix !== undefined) {
    conditions.push(sql`substr(path, 1, ${filter.pathPrefix.length}) = ${filter.pathPrefix}`)
  }
  if (filter.client !== undefined) conditions.push(sql`client_address = ${filter.client}`)
  if (filter.method !== undefined) conditions.push(sql`method = ${filter.method}`)
  return sql<SqlBool>`(${sql.join(conditions, sql` and `)})`
}

export async function countLogs(db: TelemetryDatabase): Promise<number> {
  const row = await db
    .selectFrom('log')
    .select((eb) => eb.fn.countAll<number>().as('lines'))
    .executeTakeFirstOrThrow()
  return row.lines
}

/** Removes at most `limit` of the oldest lines before a time; tells how many. */
export async function removeLogs(
  db: TelemetryDatabase,
  beforeMs: number,
  limit: number,
): Promise<number> {
  const result = await sql`
    delete from log where id in (
      select id from log where time_ms < ${beforeMs} order by time_ms, id limit ${limit}
    )`.execute(db)
  return Number(result.numAffectedRows ?? 0n)
}

/** Forgets boots that have been silent since a time, and the oldest of nodes that have too many. */
export async function removeBatches(
  db: TelemetryDatabase,
  beforeMs: number,
  bootsPerNodeMax: number,
): Promise<void> {
  await db.deleteFrom('batch').where('stored_at_ms', '<', beforeMs).execute()
  await sql`
    delete from batch where (node, boot_id, kind) in (
      select node, boot_id, kind from (
        select node, boot_id, kind,
          row_number() over (partition by node, kind order by stored_at_ms desc) as place
        from batch
      ) where place > ${bootsPerNodeMax}
    )`.execute(db)
}

/** SQL of the audit log, and the chain of its rows. */
import assert from 'node:assert'
import { createHash } from 'node:crypto'
import type { Selectable } from 'kysely'
import type { AuditEntry } from '../model/audit-entry.ts'
import type { AuditTable } from './audit-tables.ts'
import type { Database } from './database.ts'

export type AuditRecord = Selectable<AuditTable>

/** A place in the chain. */
export interface AuditLink {
  readonly number: number
  readonly hash: Uint8Array
}

export interface AuditFilter {
  readonly who?: string
  readonly action?: string
  readonly object?: string
  readonly result?: AuditRecord['result']
  readonly fromMs?: number
  readonly toMs?: number
}

/** Within the transaction of what the entry tells, so that neither is there without the other. */
export async function appendAudit(
  transaction: Database,
  entry: AuditEntry,
  timeMs: number,
): Promise<void> {
  assert(transaction.isTransaction, 'the newest row must stay the newest until there is the next')
  const last = (await newestLink(transaction)) ?? (await auditStart(transaction))
  const row = {
    number: last.number + 1,
    time_ms: timeMs,
    who: entry.who,
    via: entry.via,
    address: entry.address,
    action: entry.action,
    object: entry.object,
    changes: JSON.stringify(entry.changes),
    result: entry.result,
  }
  await transaction
    .insertInto('audit')
    .values({ ...row, hash: chained(last.hash, row) })
    .execute()
}

/** The hash of a row, by that of the row before. */
export function chained(before: Uint8Array, row: Omit<AuditRecord, 'hash'>): Buffer {
  const { number, time_ms, who, via, address, action, object, changes, result } = row
  const text = JSON.stringify([number, time_ms, who, via, address, action, object, changes, result])
  return createHash('sha256').update(before).update(text).digest()
}

export function newestLink(db: Database): Promise<AuditLink | undefined> {
  return db
    .selectFrom('audit')
    .select(['number', 'hash'])
    .orderBy('number', 'desc')
    .limit(1)
    .executeTakeFirst()
}

/** What the first row is chained to. */
export function auditStart(db: Database): Promise<AuditLink> {
  return db.selectFrom('audit_start').select(['number', 'hash']).executeTakeFirstOrThrow()
}

/** Newest first, before a number. */
export function auditBefore(
  db: Database,
  filter: AuditFilter,
  page: { readonly before: number; readonly limit: number },
): Promise<AuditRecord[]> {
  return chosen(db, filter)
    .where('number', '<', page.before)
    .orderBy('number', 'desc')
    .limit(page.limit)
    .execute()
}

/** Oldest first, after a number. */
export function auditAfter(
  db: Database,
  filter: AuditFilter,
  page: { readonly after: number; readonly limit: number },
): Promise<AuditRecord[]> {
  return chosen(db, filter)
    .where('number', '>', page.after)
    .orderBy('number')
    .limit(page.limit)
    .execute()
}

function chosen(db: Database, { who, action, object, result, fromMs, toMs }: AuditFilter) {
  let query = db.selectFrom('audit').selectAll()
  if (who !== undefined) query = query.where('who', '=', who)
  if (action !== undefined) query = query.where('action', '=', action)
  if (object !== undefined) query = query.where('object', '=', object)
  if (result !== undefined) query = query.where('result', '=', result)
  if (fromMs !== undefined) query = query.where('time_ms', '>=', fromMs)
  if (toMs !== undefined) query = query.where('time_ms', '<', toMs)
  return query
}

/** The newest row of those that are too old, or more than there may be; undefined: there are none such. */
async function lastSurplus(
  db: Database,
  bounds: { readonly beforeMs: number; readonly countMax: number },
): Promise<AuditLink | undefined> {
  const oldestKept = await db
    .selectFrom('audit')
    .select((eb) => eb.fn.min('number').as('number'))
    .where('time_ms', '>=', bounds.beforeMs)
    .executeTakeFirst()
  const newest = await newestLink(db)
  if (newest === undefined) return undefined
  const byAge = oldestKept?.number == null ? newest.number : oldestKept.number - 1
  const number = Math.max(byAge, newest.number - bounds.countMax)
  return db
    .selectFrom('audit')
    .select(['number', 'hash'])
    .where('number', '=', number)
    .executeTakeFirst()
}

/** Moves the start of the log past its oldest rows and removes them. Returns the number of the last one. */
export async function removeOldAudit(
  transaction: Database,
  bounds: { readonly beforeMs: number; readonly countMax: number },
): Promise<number | undefined> {
  const last = await lastSurplus(transaction, bounds)
  if (last === undefined) return undefined
  const { number, hash } = last
  await transaction.updateTable('audit_start').set({ number, hash }).execute()
  await transaction.deleteFrom('audit').where('number', '<=', number).execute()
  return number
}

/** SQL of dashboard sessions. */
import type { Selectable } from 'kysely'
import type { Database } from './database.ts'
import type { SessionTable } from './people-tables.ts'

export type SessionRecord = Selectable<SessionTable>

/** Keeps the newest `countMax` of those that have not expired. */
export async function insertSession(
  db: Database,
  row: SessionRecord,
  bounds: { readonly countMax: number; readonly idleMs: number },
): Promise<void> {
  await db.transaction().execute(async (transaction) => {
    await transaction
      .deleteFrom('session')
      .where((where) =>
        where.or([
          where('expires_at_ms', '<=', row.created_at_ms),
          where('used_at_ms', '<=', row.created_at_ms - bounds.idleMs),
        ]),
      )
      .execute()
    await transaction.insertInto('session').values(row).execute()
    const newest = transaction
      .selectFrom('session')
      .select('secret_hash')
      .orderBy('created_at_ms', 'desc')
      .limit(bounds.countMax)
    await transaction.deleteFrom('session').where('secret_hash', 'not in', newest).execute()
  })
}

/** With what its user may do now; both null for the admin token. */
export function findSession(db: Database, hash: Uint8Array) {
  return db
    .selectFrom('session')
    .leftJoin('user', 'user.name', 'session.user')
    .selectAll('session')
    .select(['user.role', 'user.is_disabled'])
    .where('secret_hash', '=', hash)
    .executeTakeFirst()
}

/** Newest first. */
export function listSessions(db: Database): Promise<SessionRecord[]> {
  return db.selectFrom('session').selectAll().orderBy('created_at_ms', 'desc').execute()
}

export async function touchSession(db: Database, hash: Uint8Array, nowMs: number): Promise<void> {
  await db
    .updateTable('session')
    .set({ used_at_ms: nowMs })
    .where('secret_hash', '=', hash)
    .execute()
}

export async function removeSession(db: Database, id: string): Promise<void> {
  await db.deleteFrom('session').where('id', '=', id).execute()
}

export async function removeSessionsOf(
  db: Database,
  user: string,
  except: string | undefined,
): Promise<void> {
  await db
    .deleteFrom('session')
    .where('user', '=', user)
    .where('id', '!=', except ?? '')
    .execute()
}

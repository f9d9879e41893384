/** SQL of dashboard sessions. */
import type { Selectable } from 'kysely'
import type { Database } from './database.ts'
import type { SessionTable } from './session-tables.ts'

export type SessionRecord = Selectable<SessionTable>

/** Keeps the newest `countMax` of those that have not expired. */
export async function insertSession(
  db: Database,
  row: SessionRecord,
  countMax: number,
): Promise<void> {
  await db.transaction().execute(async (transaction) => {
    await transaction
      .deleteFrom('session')
      .where('expires_at_ms', '<=', row.created_at_ms)
      .execute()
    await transaction.insertInto('session').values(row).execute()
    const newest = transaction
      .selectFrom('session')
      .select('secret_hash')
      .orderBy('created_at_ms', 'desc')
      .limit(countMax)
    await transaction.deleteFrom('session').where('secret_hash', 'not in', newest).execute()
  })
}

export function findSession(db: Database, hash: Uint8Array): Promise<SessionRecord | undefined> {
  return db.selectFrom('session').selectAll().where('secret_hash', '=', hash).executeTakeFirst()
}

export async function removeSession(db: Database, hash: Uint8Array): Promise<void> {
  await db.deleteFrom('session').where('secret_hash', '=', hash).execute()
}

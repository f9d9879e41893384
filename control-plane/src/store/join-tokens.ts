/** SQL of join tokens. */
import type { Selectable } from 'kysely'
import type { Database } from './database.ts'
import type { JoinTokenTable } from './fleet-tables.ts'

export type JoinTokenRecord = Selectable<JoinTokenTable>

export async function insertJoinToken(db: Database, row: JoinTokenRecord): Promise<void> {
  await db.insertInto('join_token').values(row).execute()
}

/** All tokens, newest first. */
export function listJoinTokens(db: Database): Promise<JoinTokenRecord[]> {
  return db
    .selectFrom('join_token')
    .selectAll()
    .orderBy('created_at_ms', 'desc')
    .orderBy('id')
    .execute()
}

export async function removeJoinToken(db: Database, id: string): Promise<boolean> {
  const result = await db.deleteFrom('join_token').where('id', '=', id).executeTakeFirst()
  return result.numDeletedRows === 1n
}

export async function removeJoinTokensExpiredBefore(db: Database, timeMs: number): Promise<void> {
  await db.deleteFrom('join_token').where('expires_at_ms', '<', timeMs).execute()
}

/** Takes one use of a token; false: it has none left or is gone. */
export async function takeJoinTokenUse(db: Database, id: string): Promise<boolean> {
  const result = await db
    .updateTable('join_token')
    .set((eb) => ({ uses_left: eb('uses_left', '-', 1) }))
    .where('id', '=', id)
    .where('uses_left', '>', 0)
    .executeTakeFirst()
  return result.numUpdatedRows === 1n
}

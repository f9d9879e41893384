/** SQL of API tokens. */
import type { Selectable } from 'kysely'
import type { Database } from './database.ts'
import type { ApiTokenTable } from './people-tables.ts'

export type ApiTokenRecord = Selectable<ApiTokenTable>

/** False: the name is taken. */
export async function insertApiToken(db: Database, row: ApiTokenRecord): Promise<boolean> {
  const result = await db
    .insertInto('api_token')
    .values(row)
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst()
  return result.numInsertedOrUpdatedRows === 1n
}

export function listApiTokens(db: Database): Promise<ApiTokenRecord[]> {
  return db.selectFrom('api_token').selectAll().orderBy('name').execute()
}

export function findApiToken(db: Database, hash: Uint8Array): Promise<ApiTokenRecord | undefined> {
  return db.selectFrom('api_token').selectAll().where('secret_hash', '=', hash).executeTakeFirst()
}

export async function touchApiToken(db: Database, name: string, nowMs: number): Promise<void> {
  await db.updateTable('api_token').set({ used_at_ms: nowMs }).where('name', '=', name).execute()
}

export async function removeApiToken(db: Database, name: string): Promise<boolean> {
  const result = await db.deleteFrom('api_token').where('name', '=', name).executeTakeFirst()
  return result.numDeletedRows === 1n
}

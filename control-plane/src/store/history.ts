/** SQL of the newest version that nodes were seen with and that this database never published. */
import type { Database } from './database.ts'

/** Undefined: no node was ahead, or the operator has settled it. */
export async function findVersionSeen(db: Database): Promise<number | undefined> {
  const row = await db.selectFrom('version_seen').select('number').executeTakeFirst()
  return row?.number
}

export async function saveVersionSeen(db: Database, number: number): Promise<void> {
  await db
    .insertInto('version_seen')
    .values({ id: 1, number })
    .onConflict((conflict) => conflict.column('id').doUpdateSet({ number }))
    .execute()
}

export async function clearVersionSeen(db: Database): Promise<void> {
  await db.deleteFrom('version_seen').execute()
}

/** SQL of versions that nodes were seen with and that this database never published. */
import type { Database } from './database.ts'

/** The newest one; undefined: there was none, or the operator has settled it. */
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

/** Up to which number the operator has settled it; 0: nothing was. */
export async function findAcceptedUntil(db: Database): Promise<number> {
  const row = await db.selectFrom('history_accepted').select('until_version').executeTakeFirst()
  return row?.until_version ?? 0
}

/** What was seen is settled, and so is all up to the number. */
export function acceptSeen(db: Database, until_version: number): Promise<void> {
  return db.transaction().execute(async (tx) => {
    await tx
      .insertInto('history_accepted')
      .values({ id: 1, until_version })
      .onConflict((conflict) => conflict.column('id').doUpdateSet({ until_version }))
      .execute()
    await tx.deleteFrom('version_seen').execute()
  })
}

/**
 * SQL of the sites' private keys. Rows stay when a certificate is replaced or deleted, for as long as older
 * versions or drafts refer to them. What is in here is sealed; sealing and unsealing is the caller's.
 */
import { type Insertable, type Selectable, sql } from 'kysely'
import type { PrivateKeyTable } from './configuration-tables.ts'
import type { Database } from './database.ts'

/** Stores keys; one that is stored already stays as it is. */
export async function insertPrivateKeys(
  db: Database,
  rows: readonly Insertable<PrivateKeyTable>[],
): Promise<void> {
  for (const row of rows) {
    await db
      .insertInto('private_key')
      .values(row)
      .onConflict((conflict) => conflict.column('public_key_id').doNothing())
      .execute()
  }
}

export function listPrivateKeys(db: Database): Promise<Selectable<PrivateKeyTable>[]> {
  return db.selectFrom('private_key').selectAll().execute()
}

/** Removes the keys that no certificate of any version or draft has. Returns their ids. */
export async function removeUnusedPrivateKeys(db: Database): Promise<string[]> {
  const { rows } = await sql<{ public_key_id: string }>`
    delete from private_key where public_key_id not in (
      select body ->> 'publicKeyId' from resource where kind = 'certificate'
      union
      select body ->> 'publicKeyId' from draft_change where kind = 'certificate' and body is not null
    ) returning public_key_id`.execute(db)
  return rows.map((row) => row.public_key_id)
}

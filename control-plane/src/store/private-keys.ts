/**
 * SQL of the sites' private keys. Rows stay when a certificate is replaced or deleted, since older versions
 * refer to them. What is in here is sealed; sealing and unsealing is the caller's.
 */
import type { Insertable, Selectable } from 'kysely'
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

/** SQL of the internal CA's one row. */
import type { Selectable } from 'kysely'
import type { Database } from './database.ts'
import type { AuthorityTable } from './fleet-tables.ts'

export function findAuthority(db: Database): Promise<Selectable<AuthorityTable> | undefined> {
  return db.selectFrom('authority').selectAll().executeTakeFirst()
}

export async function insertAuthority(db: Database, row: AuthorityTable): Promise<void> {
  await db.insertInto('authority').values(row).execute()
}

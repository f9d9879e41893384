/** SQL of users. */
import type { Selectable, Updateable } from 'kysely'
import type { Database } from './database.ts'
import type { UserTable } from './people-tables.ts'

export type UserRecord = Selectable<UserTable>

/** False: the name is taken. */
export async function insertUser(db: Database, row: UserRecord): Promise<boolean> {
  const result = await db
    .insertInto('user')
    .values(row)
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst()
  return result.numInsertedOrUpdatedRows === 1n
}

export function listUsers(db: Database): Promise<UserRecord[]> {
  return db.selectFrom('user').selectAll().orderBy('name').execute()
}

export function findUser(db: Database, name: string): Promise<UserRecord | undefined> {
  return db.selectFrom('user').selectAll().where('name', '=', name).executeTakeFirst()
}

export async function updateUser(
  db: Database,
  name: string,
  changed: Updateable<UserTable>,
): Promise<void> {
  await db.updateTable('user').set(changed).where('name', '=', name).execute()
}

/** With its sessions. False: there is none. */
export async function removeUser(db: Database, name: string): Promise<boolean> {
  const result = await db.deleteFrom('user').where('name', '=', name).executeTakeFirst()
  return result.numDeletedRows === 1n
}

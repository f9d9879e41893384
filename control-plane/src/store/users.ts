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

/** With `has_second_factor`, 0 or 1. */
function users(db: Database) {
  return db
    .selectFrom('user')
    .leftJoin('second_factor', 'second_factor.user', 'user.name')
    .selectAll('user')
    .select((eb) =>
      eb.cast<number>(eb('second_factor.user', 'is not', null), 'integer').as('has_second_factor'),
    )
}

export function listUsers(db: Database) {
  return users(db).orderBy('name').execute()
}

export function findUser(db: Database, name: string) {
  return users(db).where('name', '=', name).executeTakeFirst()
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

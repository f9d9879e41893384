/** Up to which number versions of another history were accepted by an operator. */
import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table history_accepted (
      id integer primary key check (id = 1),
      until_version integer not null
    ) strict`.execute(db)
}

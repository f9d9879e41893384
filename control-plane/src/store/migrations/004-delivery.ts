/** Nodes that an operator wants drained, and versions of nodes that were never published here. */
import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table node add column is_draining integer not null default 0
      check (is_draining in (0, 1))`.execute(db)
  await sql`
    create table version_seen (
      id integer primary key check (id = 1),
      number integer not null
    ) strict`.execute(db)
}

/** Versions that were published to some nodes first. */
import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table stage (
      version integer primary key,
      base_version integer not null,
      author text not null,
      plan text not null,
      state text not null check (state in ('running', 'paused', 'promoted', 'withdrawn')),
      reason text not null,
      started_at_ms integer not null,
      ended_at_ms integer
    ) strict`.execute(db)
}

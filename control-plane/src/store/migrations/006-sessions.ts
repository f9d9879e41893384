/** Browsers that are signed in to the dashboard. */
import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table session (
      secret_hash blob primary key,
      created_at_ms integer not null,
      expires_at_ms integer not null
    ) strict`.execute(db)
}

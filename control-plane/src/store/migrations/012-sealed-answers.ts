/** Answers under idempotency keys are sealed from here on; those before, which are good for a day, are forgotten. */
import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`delete from idempotency_key`.execute(db)
}

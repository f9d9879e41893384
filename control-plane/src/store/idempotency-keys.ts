/** SQL of idempotency keys. */
import type { Insertable, Selectable } from 'kysely'
import type { Database } from './database.ts'
import type { IdempotencyKeyTable } from './history-tables.ts'

export type IdempotencyKeyRow = Selectable<IdempotencyKeyTable>

export function findIdempotencyKey(
  db: Database,
  key: string,
): Promise<IdempotencyKeyRow | undefined> {
  return db.selectFrom('idempotency_key').selectAll().where('key', '=', key).executeTakeFirst()
}

/** Stores a key, or what has become known of it since. */
export async function saveIdempotencyKey(
  db: Database,
  row: Insertable<IdempotencyKeyTable>,
): Promise<void> {
  await db
    .insertInto('idempotency_key')
    .values(row)
    .onConflict((conflict) => conflict.column('key').doUpdateSet(row))
    .execute()
}

/** Forgets keys from before a time, and the oldest beyond a count. */
export async function forgetIdempotencyKeys(
  db: Database,
  { beforeMs, countMax }: { readonly beforeMs: number; readonly countMax: number },
): Promise<void> {
  await db
    .deleteFrom('idempotency_key')
    .where((is) =>
      is.or([
        is('created_at_ms', '<', beforeMs),
        is(
          'created_at_ms',
          '<',
          is
            .selectFrom('idempotency_key')
            .select('created_at_ms')
            .orderBy('created_at_ms', 'desc')
            .limit(1)
            .offset(countMax),
        ),
      ]),
    )
    .execute()
}

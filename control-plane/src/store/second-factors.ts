/** SQL of second factors and their recovery codes. */
import type { Selectable } from 'kysely'
import type { Database } from './database.ts'
import type { SecondFactorTable } from './people-tables.ts'

export type SecondFactorRecord = Selectable<SecondFactorTable>

export function findSecondFactor(
  db: Database,
  user: string,
): Promise<SecondFactorRecord | undefined> {
  return db.selectFrom('second_factor').selectAll().where('user', '=', user).executeTakeFirst()
}

/** In place of the one that the user had, with recovery codes in place of theirs. */
export async function replaceSecondFactor(
  transaction: Database,
  row: SecondFactorRecord,
  recoveryHashes: readonly Uint8Array[],
): Promise<void> {
  await removeSecondFactor(transaction, row.user)
  await transaction.insertInto('second_factor').values(row).execute()
  const codes = recoveryHashes.map((code_hash) => ({ user: row.user, code_hash }))
  await transaction.insertInto('recovery_code').values(codes).execute()
}

/** With its recovery codes. */
export async function removeSecondFactor(db: Database, user: string): Promise<void> {
  await db.deleteFrom('second_factor').where('user', '=', user).execute()
}

/** False: a code of that time or of a later one was used. */
export async function useTimeStep(db: Database, user: string, step: number): Promise<boolean> {
  const result = await db
    .updateTable('second_factor')
    .set({ used_step: step })
    .where('user', '=', user)
    .where('used_step', '<', step)
    .executeTakeFirst()
  return result.numUpdatedRows === 1n
}

/** False: there is none such, or it was used. */
export async function useRecoveryCode(
  db: Database,
  user: string,
  hash: Uint8Array,
): Promise<boolean> {
  const result = await db
    .deleteFrom('recovery_code')
    .where('user', '=', user)
    .where('code_hash', '=', hash)
    .executeTakeFirst()
  return result.numDeletedRows === 1n
}

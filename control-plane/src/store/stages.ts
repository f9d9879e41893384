/** SQL of stages: versions that were published to some nodes first. */
import type { Insertable, Selectable, Updateable } from 'kysely'
import type { Database } from './database.ts'
import type { StageTable } from './history-tables.ts'

export type StageRow = Selectable<StageTable>

export async function insertStage(db: Database, row: Insertable<StageTable>): Promise<void> {
  await db.insertInto('stage').values(row).execute()
}

/** There is one that has not ended at most. */
export function findOpenStage(db: Database): Promise<StageRow | undefined> {
  return db
    .selectFrom('stage')
    .selectAll()
    .where('ended_at_ms', 'is', null)
    .orderBy('version', 'desc')
    .limit(1)
    .executeTakeFirst()
}

/** Newest first. */
export function listStages(db: Database, limit: number): Promise<StageRow[]> {
  return db.selectFrom('stage').selectAll().orderBy('version', 'desc').limit(limit).execute()
}

export async function updateStage(
  db: Database,
  version: number,
  change: Updateable<StageTable>,
): Promise<void> {
  await db.updateTable('stage').set(change).where('version', '=', version).execute()
}

/** SQL of drafts. */
import type { Insertable, Selectable } from 'kysely'
import type { Database } from './database.ts'
import type { DraftChangeTable, DraftTable } from './history-tables.ts'

export type DraftRow = Selectable<DraftTable>
export type DraftChangeRow = Selectable<DraftChangeTable>

export function listDrafts(db: Database): Promise<DraftRow[]> {
  return db.selectFrom('draft').selectAll().orderBy('name').execute()
}

export function findDraft(db: Database, name: string): Promise<DraftRow | undefined> {
  return db.selectFrom('draft').selectAll().where('name', '=', name).executeTakeFirst()
}

export function draftChanges(db: Database, draft: string): Promise<DraftChangeRow[]> {
  return db
    .selectFrom('draft_change')
    .selectAll()
    .where('draft', '=', draft)
    .orderBy('kind')
    .orderBy('name')
    .execute()
}

export async function countDraftChanges(db: Database): Promise<ReadonlyMap<string, number>> {
  const rows = await db
    .selectFrom('draft_change')
    .select((is) => ['draft', is.fn.countAll<number>().as('count')])
    .groupBy('draft')
    .execute()
  return new Map(rows.map(({ draft, count }) => [draft, count]))
}

export interface DraftWrite {
  readonly draft: Insertable<DraftTable>
  readonly changes: readonly Insertable<DraftChangeTable>[]
  /** Changes that come to nothing. */
  readonly dropped: readonly { readonly kind: string; readonly name: string }[]
}

/** Begins the draft when there is none of the name. All or nothing. */
export async function writeDraft(
  db: Database,
  { draft, changes, dropped }: DraftWrite,
): Promise<void> {
  await db.transaction().execute(async (tx) => {
    const { updated_at_ms } = draft
    await tx
      .insertInto('draft')
      .values(draft)
      .onConflict((conflict) => conflict.column('name').doUpdateSet({ updated_at_ms }))
      .execute()
    for (const { kind, name } of [...changes, ...dropped]) {
      await tx
        .deleteFrom('draft_change')
        .where('draft', '=', draft.name)
        .where('kind', '=', kind)
        .where('name', '=', name)
        .execute()
    }
    for (const change of changes) await tx.insertInto('draft_change').values(change).execute()
  })
}

/** False: there was none of the name. */
export async function deleteDraft(db: Database, name: string): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('draft')
    .where('name', '=', name)
    .executeTakeFirstOrThrow()
  return numDeletedRows === 1n
}

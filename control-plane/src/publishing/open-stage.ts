/** A version that some nodes run before the others, until it is promoted to all of them or withdrawn. */
import type { StagePlan } from '../model/stage-plan.ts'
import { appendAudit } from '../store/audit.ts'
import type { Database } from '../store/database.ts'
import { findOpenStage, type StageRow, updateStage } from '../store/stages.ts'
import type { KeyRing } from './key-ring.ts'
import type { By } from './publication.ts'
import { auditEntryBy, loadVersion, type NewestVersion } from './version-records.ts'

export interface OpenStage {
  readonly plan: StagePlan
  readonly version: number
  /** What the other nodes run meanwhile. */
  readonly base: NewestVersion
  readonly author: string
  readonly isPaused: boolean
  readonly startedAtMs: number
}

export async function loadOpenStage(db: Database, ring: KeyRing): Promise<OpenStage | undefined> {
  const row = await findOpenStage(db)
  if (row === undefined) return undefined
  return {
    plan: planOf(row),
    version: row.version,
    base: await loadVersion(db, ring, row.base_version),
    author: row.author,
    isPaused: row.state === 'paused',
    startedAtMs: row.started_at_ms,
  }
}

/** With its row in the audit log. */
export function storePromotion(
  db: Database,
  version: number,
  told: { readonly reason: string; readonly by: By; readonly timeMs: number },
): Promise<void> {
  const { reason, by, timeMs } = told
  return db.transaction().execute(async (transaction) => {
    await updateStage(transaction, version, { state: 'promoted', reason, ended_at_ms: timeMs })
    await appendAudit(transaction, auditEntryBy(by, 'promote', version), timeMs)
  })
}

export function toStageRow({ plan, version, base, author, startedAtMs }: OpenStage): StageRow {
  return {
    version,
    base_version: base.row?.number ?? 0,
    author,
    plan: JSON.stringify(plan),
    state: 'running',
    reason: '',
    started_at_ms: startedAtMs,
    ended_at_ms: null,
  }
}

export function planOf({ plan }: Pick<StageRow, 'plan'>): StagePlan {
  // The cast holds: only toStageRow writes the column.
  return JSON.parse(plan) as StagePlan
}

/** SQL of nodes: who they are and what they run. */
import { type Insertable, type Selectable, sql, type Updateable } from 'kysely'
import { appendAudit } from './audit.ts'
import type { Database } from './database.ts'
import type { NodeTable } from './fleet-tables.ts'
import { takeJoinTokenUse } from './join-tokens.ts'

export type NodeRecord = Selectable<NodeTable>
export type NewNodeRecord = Pick<
  Insertable<NodeTable>,
  'id' | 'name' | 'labels' | 'enrolled_at_ms' | 'fingerprint' | 'certificate_expires_at_ms'
>

/** All nodes, revoked ones too, by name. */
export function listNodes(db: Database): Promise<NodeRecord[]> {
  return db.selectFrom('node').selectAll().orderBy('name').orderBy('enrolled_at_ms').execute()
}

export function listNodeNames(db: Database): Promise<{ id: string; name: string }[]> {
  return db.selectFrom('node').select(['id', 'name']).execute()
}

export function findNode(db: Database, id: string): Promise<NodeRecord | undefined> {
  return db.selectFrom('node').selectAll().where('id', '=', id).executeTakeFirst()
}

/** The node of that name that is not revoked, or else the one that was enrolled last. */
export function findNodeByName(db: Database, name: string): Promise<NodeRecord | undefined> {
  return db
    .selectFrom('node')
    .selectAll()
    .where('name', '=', name)
    .orderBy((eb) => eb('revoked_at_ms', 'is not', null))
    .orderBy('enrolled_at_ms', 'desc')
    .limit(1)
    .executeTakeFirst()
}

export async function updateNode(
  db: Database,
  id: string,
  change: Updateable<NodeTable>,
): Promise<void> {
  await db.updateTable('node').set(change).where('id', '=', id).execute()
}

export interface AppliedVersion {
  readonly id: string
  readonly version: number
  readonly hash: string
  readonly appliedAtMs: number
  readonly tookMs: number
}

/** What many nodes have applied, in one statement: they all answer at about the same time. */
export async function recordApplied(
  db: Database,
  applied: readonly AppliedVersion[],
): Promise<void> {
  await sql`
    update node set
      version = answer.value ->> 'version',
      hash = answer.value ->> 'hash',
      applied_at_ms = answer.value ->> 'appliedAtMs',
      took_ms = answer.value ->> 'tookMs',
      rejected_version = null,
      rejected_hash = null,
      rejected_at_ms = null,
      rejected_problems = null
    from json_each(${JSON.stringify(applied)}) as answer
    where node.id = answer.value ->> 'id'`.execute(db)
}

/** Revokes a node once; a second time keeps the first time stamp. */
export async function revokeNode(db: Database, id: string, timeMs: number): Promise<void> {
  await db
    .updateTable('node')
    .set({ revoked_at_ms: timeMs })
    .where('id', '=', id)
    .where('revoked_at_ms', 'is', null)
    .execute()
}

/** Nobody needs the certificate before the current one any more. */
export async function forgetPreviousFingerprint(
  db: Database,
  id: string,
  fingerprint: string,
): Promise<void> {
  await db
    .updateTable('node')
    .set({ previous_fingerprint: null })
    .where('id', '=', id)
    .where('fingerprint', '=', fingerprint)
    .execute()
}

const joined = { via: 'join-token', action: 'join', changes: [], result: 'done' } as const

export type EnrolmentOutcome = 'enrolled' | 'name-taken' | 'token-used-up'

/**
 * Adds a node, with its row in the audit log, and takes a use of its token: all or nothing. A node whose certificate
 * has expired by then is there already, and gets the new certificate.
 */
export function enrolNode(
  db: Database,
  tokenId: string,
  node: NewNodeRecord,
  address: string,
): Promise<EnrolmentOutcome> {
  const origin = { who: `join-token:${tokenId}`, address }
  return db.transaction().execute(async (tx) => {
    const holder = await tx
      .selectFrom('node')
      .select(['id', 'certificate_expires_at_ms'])
      .where('name', '=', node.name)
      .where('revoked_at_ms', 'is', null)
      .executeTakeFirst()
    const isBack = holder?.id === node.id && holder.certificate_expires_at_ms <= node.enrolled_at_ms
    if (holder !== undefined && !isBack) {
      return 'name-taken'
    }
    if (!(await takeJoinTokenUse(tx, tokenId))) {
      return 'token-used-up'
    }
    if (isBack) {
      const { labels, fingerprint, certificate_expires_at_ms } = node
      const change = { labels, fingerprint, previous_fingerprint: null, certificate_expires_at_ms }
      await updateNode(tx, node.id, change)
    } else {
      await tx.insertInto('node').values(node).execute()
    }
    await appendAudit(tx, { ...joined, ...origin, object: node.name }, node.enrolled_at_ms)
    return 'enrolled'
  })
}

/** The newest version, between its rows and memory. */
import { type AuditEntry, bounded, type Origin } from '../model/audit-entry.ts'
import { idOf, type ResourceId } from '../model/configuration.ts'
import { differenceOf } from '../model/difference.ts'
import { readStored } from '../model/documents.ts'
import type { Kind } from '../model/kinds.ts'
import type { Labels } from '../model/labels.ts'
import { limits } from '../model/limits.ts'
import { appendAudit } from '../store/audit.ts'
import type { Database } from '../store/database.ts'
import {
  currentResources,
  endResources,
  findVersion,
  insertResources,
  insertVersion,
  newestVersion,
  type ResourceRow,
  resourcesAt,
  type VersionRow,
} from '../store/versions.ts'
import type { KeyRing, PrivateKey } from './key-ring.ts'
import { toCandidate } from './preparation.ts'
import { PublishedState, type ResourceRecord } from './published-state.ts'
import type { PublishedVersion } from './published-version.ts'
import { VersionViews } from './version-views.ts'

export interface NewestVersion {
  /** Undefined before the first version. */
  readonly row: VersionRow | undefined
  readonly state: PublishedState
  readonly published: PublishedVersion | undefined
}

export interface VersionDraft {
  readonly author: string
  readonly origin?: Origin | undefined
  readonly message: string
  readonly createdAtMs: number
  readonly put: readonly ResourceRecord[]
  readonly removed: readonly ResourceId[]
  readonly keys: readonly PrivateKey[]
  readonly alongside?: Alongside | undefined
  /** The version's number is at least this. */
  readonly numberMin?: number
}

const byItself: Origin = Object.freeze({ via: 'control-plane', address: '' })

/** Writes rows of its own within the transaction that stores a version. */
export type Alongside = (transaction: Database) => Promise<void>

/** Reads the newest version; its hash is that of what was read, which may differ from the stored one. */
export async function loadNewest(db: Database, keys: KeyRing): Promise<NewestVersion> {
  const row = await newestVersion(db)
  if (row === undefined) return { row, state: PublishedState.empty, published: undefined }
  const rows = await currentResources(db)
  const state = PublishedState.empty.with(rows.map((resource) => toRecord(resource, keys)))
  return { row, state, published: toPublished(row.number, state.hash, state, row) }
}

/** A version that is not the newest, as that was while it was. */
export async function loadVersion(
  db: Database,
  keys: KeyRing,
  number: number,
): Promise<NewestVersion> {
  const row = await findVersion(db, number)
  if (row === undefined) throw new Error(`version ${number} is not in the database`)
  const rows = await resourcesAt(db, number)
  const state = PublishedState.empty.with(rows.map((resource) => toRecord(resource, keys)))
  return { row, state, published: toPublished(number, state.hash, state, row) }
}

/** A version for the hashes of its views alone, by the digests of its time: this release may encode differently. */
export async function loadHashes(
  db: Database,
  number: number,
): Promise<PublishedVersion | undefined> {
  const row = await findVersion(db, number)
  if (row === undefined) return undefined
  const records = (await resourcesAt(db, number)).map((stored) => ({
    resource: readStored(stored.kind as Kind, stored.body),
    revision: stored.revision,
    createdAtMs: stored.created_at_ms,
    updatedAtMs: stored.updated_at_ms,
    encoded: nothing,
    digest: stored.digest,
    needs: [],
  }))
  return toPublished(number, row.hash, PublishedState.empty.with(records), row)
}

const nothing = new Uint8Array()

/** Numbers a draft and stores it in one transaction, all or nothing. */
export async function storeVersion(
  db: Database,
  ring: KeyRing,
  before: NewestVersion,
  draft: VersionDraft,
): Promise<NewestVersion> {
  const state = before.state.with(draft.put, draft.removed)
  const row = toVersionRow(before, draft, state)
  const ended = [...draft.removed, ...draft.put.map(({ resource }) => idOf(resource))].filter(
    (id) => before.state.find(id) !== undefined,
  )
  await db.transaction().execute(async (transaction) => {
    await insertVersion(transaction, row)
    await ring.store(transaction, draft.keys, draft.createdAtMs)
    for (const [kind, ids] of Map.groupBy(ended, ({ kind }) => kind)) {
      const names = ids.map(({ name }) => name)
      await endResources(transaction, kind, names, row.number)
    }
    await insertResources(
      transaction,
      draft.put.map((record) => toResourceRow(record, row.number)),
    )
    await draft.alongside?.(transaction)
    await appendAudit(transaction, toAuditEntry(before.state, draft, row), draft.createdAtMs)
  })
  return { row, state, published: toPublished(row.number, row.hash, state, row) }
}

/** Nothing is published without its row in the audit log. */
function toAuditEntry(
  before: PublishedState,
  { author, origin, put, removed }: VersionDraft,
  { number }: VersionRow,
): AuditEntry {
  const after = put.map(({ resource }) => ({ id: idOf(resource), resource }))
  const changed = [...after, ...removed.map((id) => ({ id, resource: undefined }))]
  const changes = changed
    .slice(0, limits.auditChangesMax)
    .flatMap(({ id, resource }) => differenceOf(before.find(id)?.resource, resource) ?? [])
  const left = changed.length - limits.auditChangesMax
  return {
    ...auditEntryBy({ author, origin }, 'publish', number),
    changes: bounded(changes, changes.length + Math.max(0, left)),
  }
}

/** Of something that is done about a version. */
export function auditEntryBy(
  { author, origin }: Pick<VersionDraft, 'author' | 'origin'>,
  action: 'publish' | 'promote',
  version: number,
): AuditEntry {
  return {
    who: author,
    ...(origin ?? byItself),
    action,
    object: `version ${version}`,
    changes: [],
    result: 'done',
  }
}

function toVersionRow(
  before: NewestVersion,
  { author, message, createdAtMs, numberMin = 1 }: VersionDraft,
  state: PublishedState,
): VersionRow {
  const { entryPoints, routers, services, certificates } = state.configuration.counts
  const hadRouters = before.state.configuration.counts.routers > 0
  // A control plane that lost its data begins again at an empty version, which must not look intended.
  const isEmptyOnPurpose = routers === 0 && (hadRouters || before.row?.is_empty_on_purpose === 1)
  return {
    number: Math.max(numberMin, (before.row?.number ?? 0) + 1),
    hash: state.hash,
    author,
    message,
    created_at_ms: createdAtMs,
    is_empty_on_purpose: isEmptyOnPurpose ? 1 : 0,
    entry_points: entryPoints,
    routers,
    services,
    certificates,
  }
}

function toPublished(
  number: number,
  hash: string,
  state: PublishedState,
  row: Pick<VersionRow, 'is_empty_on_purpose'>,
): PublishedVersion {
  const views = new VersionViews(state, {
    hash,
    isEmptyOnPurpose: row.is_empty_on_purpose === 1,
  })
  return Object.freeze({
    number: BigInt(number),
    hash,
    viewFor: (labels: Labels) => views.viewFor(labels),
  })
}

function toRecord(row: ResourceRow, keys: KeyRing): ResourceRecord {
  // The cast holds: only toResourceRow writes these columns.
  const resource = readStored(row.kind as Kind, row.body)
  return {
    ...toCandidate(resource, (id) => keys.find(id)),
    revision: row.revision,
    createdAtMs: row.created_at_ms,
    updatedAtMs: row.updated_at_ms,
  }
}

function toResourceRow(record: ResourceRecord, version: number) {
  const { kind, name } = idOf(record.resource)
  return {
    kind,
    name,
    since_version: version,
    revision: record.revision,
    body: JSON.stringify(record.resource.spec),
    digest: record.digest,
    created_at_ms: record.createdAtMs,
    updated_at_ms: record.updatedAtMs,
  }
}

/** Reads past versions. What is current comes from the Publisher, from memory. */
import { differences, type ResourceDifference } from '../model/difference.ts'
import { readStored } from '../model/documents.ts'
import type { Kind } from '../model/kinds.ts'
import type { Resource } from '../model/resources.ts'
import type { Database } from '../store/database.ts'
import {
  countVersions,
  findVersion,
  listVersions,
  resourcesAt,
  statesApart,
  type VersionRow,
  versionBefore,
} from '../store/versions.ts'

export interface VersionSummary {
  readonly number: number
  readonly hash: string
  readonly author: string
  readonly message: string
  readonly createdAt: string
  readonly counts: {
    readonly entryPoints: number
    readonly routers: number
    readonly services: number
    readonly certificates: number
  }
}

export interface ArchivedVersion extends VersionSummary {
  readonly resources: readonly Resource[]
  /** The kept version before this one; null: there is none. */
  readonly previous: number | null
  /** From the previous one, or from nothing. */
  readonly changes: readonly ResourceDifference[]
}

/** Before the first version. */
const NOTHING = 0

export class VersionArchive {
  readonly #db: Database

  constructor(db: Database) {
    this.#db = db
  }

  /** Newest first. */
  async list(limit: number, offset: number): Promise<{ items: VersionSummary[]; total: number }> {
    const rows = await listVersions(this.#db, limit, offset)
    return { items: rows.map(toSummary), total: await countVersions(this.#db) }
  }

  async summary(number: number): Promise<VersionSummary | undefined> {
    const row = await findVersion(this.#db, number)
    return row === undefined ? undefined : toSummary(row)
  }

  async find(number: number): Promise<ArchivedVersion | undefined> {
    const row = await findVersion(this.#db, number)
    if (row === undefined) return undefined
    const resources = await this.resources(number)
    const previous = (await versionBefore(this.#db, number))?.number ?? null
    const changes = await this.difference(previous ?? NOTHING, number)
    return { ...toSummary(row), resources, previous, changes }
  }

  /** Of a version that there is. */
  async resources(number: number): Promise<Resource[]> {
    return (await resourcesAt(this.#db, number)).map(toResource)
  }

  /** What a version changed on the way from another one; both must be there, or one be 0 for nothing. */
  async difference(from: number, to: number): Promise<ResourceDifference[]> {
    const before = await statesApart(this.#db, { held: from, missing: to })
    const after = await statesApart(this.#db, { held: to, missing: from })
    return differences(before.map(toResource), after.map(toResource))
  }
}

function toResource({ kind, body }: { readonly kind: string; readonly body: string }): Resource {
  // The cast holds: version-records.ts wrote the columns.
  return readStored(kind as Kind, body)
}

function toSummary(row: VersionRow): VersionSummary {
  return {
    number: row.number,
    hash: row.hash,
    author: row.author,
    message: row.message,
    createdAt: new Date(row.created_at_ms).toISOString(),
    counts: {
      entryPoints: row.entry_points,
      routers: row.routers,
      services: row.services,
      certificates: row.certificates,
    },
  }
}

/** Reads past versions. What is current comes from the Publisher, from memory. */
import { readStored } from '../model/documents.ts'
import type { Kind } from '../model/kinds.ts'
import type { Resource } from '../model/resources.ts'
import type { Database } from '../store/database.ts'
import {
  countVersions,
  findVersion,
  listVersions,
  resourcesAt,
  type VersionRow,
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
}

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

  async find(number: number): Promise<ArchivedVersion | undefined> {
    const row = await findVersion(this.#db, number)
    if (row === undefined) return undefined
    const resources = await resourcesAt(this.#db, number)
    return {
      ...toSummary(row),
      // The cast holds: version-records.ts wrote the columns.
      resources: resources.map(({ kind, body }) => readStored(kind as Kind, body)),
    }
  }
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

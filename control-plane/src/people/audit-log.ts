/** Who did what, when and from where. Publishing writes its rows itself, in the transaction of the version. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { AuditChange, AuditEntry } from '../model/audit-entry.ts'
import {
  type AuditFilter,
  type AuditLink,
  type AuditRecord,
  appendAudit,
  auditAfter,
  auditBefore,
  auditStart,
  chained,
  removeOldAudit,
} from '../store/audit.ts'
import type { Database } from '../store/database.ts'
import { peopleLimits } from './limits.ts'

export interface AuditRow extends AuditEntry {
  readonly number: number
  readonly time: string
  /** Hex. */
  readonly hash: string
}

export interface AuditVerdict {
  readonly isIntact: boolean
  readonly rows: number
  /** The last row that was removed for its age, and its hash, which the first row is chained to. */
  readonly start: { readonly number: number; readonly hash: string }
  /** The last row that fits. To be kept elsewhere: rows after it cannot be missed by the chain itself. */
  readonly end: { readonly number: number; readonly hash: string }
  /** Why the row after `end` does not fit; null: all do. */
  readonly problem: string | null
}

const dayMs = 86_400_000

export class AuditLog {
  readonly #db: Database
  readonly #daysMax: number
  readonly #now: () => number

  constructor(options: {
    readonly db: Database
    readonly daysMax: number
    readonly now: () => number
  }) {
    this.#db = options.db
    this.#daysMax = options.daysMax
    this.#now = options.now
  }

  record(entry: AuditEntry): Promise<void> {
    return this.#db
      .transaction()
      .execute((transaction) => appendAudit(transaction, entry, this.#now()))
  }

  /** Newest first. */
  async list(
    filter: AuditFilter,
    { limit, before = Number.MAX_SAFE_INTEGER }: { limit: number; before?: number },
  ): Promise<{ items: AuditRow[]; next: number | null }> {
    const rows = await auditBefore(this.#db, filter, { before, limit })
    const next = rows.length === limit ? (rows.at(-1)?.number ?? null) : null
    return { items: rows.map(toRow), next }
  }

  /** All rows of a choice, oldest first, in pages. */
  async *export(filter: AuditFilter): AsyncGenerator<AuditRow[]> {
    for await (const rows of this.#pages(filter, 0)) yield rows.map(toRow)
  }

  /** Computes the chain once more. */
  async verify(): Promise<AuditVerdict> {
    const start = await auditStart(this.#db)
    let end: AuditLink = start
    const verdict = (problem: string | null): AuditVerdict => ({
      isIntact: problem === null,
      rows: end.number - start.number,
      start: shown(start),
      end: shown(end),
      problem,
    })
    for await (const rows of this.#pages({}, start.number)) {
      for (const row of rows) {
        if (row.number !== end.number + 1) return verdict(`row ${end.number + 1} is missing`)
        if (!chained(end.hash, row).equals(row.hash))
          return verdict(`row ${row.number} was changed`)
        end = row
      }
    }
    return verdict(null)
  }

  /** Removes what is older than it may be. Returns the number of the last row that went. */
  removeOld(): Promise<number | undefined> {
    const beforeMs = this.#now() - this.#daysMax * dayMs
    return this.#db.transaction().execute(async (transaction) => {
      const countMax = peopleLimits.auditRowsMax
      const last = await removeOldAudit(transaction, { beforeMs, countMax })
      if (last === undefined) return undefined
      const entry = { ...removal, object: `rows up to ${last}` }
      await appendAudit(transaction, entry, this.#now())
      return last
    })
  }

  async *#pages(filter: AuditFilter, from: number): AsyncGenerator<AuditRecord[]> {
    const limit = peopleLimits.auditRowsPerRead
    let after = from
    while (true) {
      const rows = await auditAfter(this.#db, filter, { after, limit })
      if (rows.length > 0) yield rows
      if (rows.length < limit) return
      after = rows.at(-1)?.number ?? after
      await nextTurn()
    }
  }
}

const removal: AuditEntry = Object.freeze({
  who: 'control-plane',
  via: 'control-plane',
  address: '',
  action: 'remove-old-audit',
  object: '',
  changes: [],
  result: 'done',
})

function shown({ number, hash }: AuditLink) {
  return { number, hash: Buffer.from(hash).toString('hex') }
}

function toRow({ time_ms, changes, hash, via, ...row }: AuditRecord): AuditRow {
  return {
    ...row,
    // The casts hold: only appendAudit writes these columns.
    via: via as AuditEntry['via'],
    time: new Date(time_ms).toISOString(),
    changes: JSON.parse(changes) as readonly AuditChange[],
    hash: Buffer.from(hash).toString('hex'),
  }
}

/**
 * Adds to minute rows of traffic by statements of better-sqlite3 itself. A thousand nodes bring ten thousand rows a
 * second: by a query builder, or many as one JSON parameter, each costs more than what SQLite does for it.
 */
import type SQLite from 'better-sqlite3'
import type { TrafficRecord } from './telemetry.ts'

type Blobs = [latency: Uint8Array, firstByte: Uint8Array, breakdown: Uint8Array]

/** What comes packed, merged: the result stands for both. */
export type Merge = (stored: Uint8Array, added: Uint8Array) => Uint8Array

export class MinuteRows {
  readonly #find: SQLite.Statement<unknown[], Blobs>
  readonly #insert: SQLite.Statement
  readonly #update: SQLite.Statement

  constructor(sqlite: SQLite.Database) {
    const isKey = 'minute_ms = ? and node = ? and router = ? and service = ?'
    this.#find = sqlite
      .prepare<unknown[], Blobs>(
        `select latency, first_byte, breakdown from traffic where ${isKey}`,
      )
      .raw()
    this.#insert = sqlite.prepare(`
      insert into traffic (
        informational, success, redirection, client_error, server_error, none,
        bytes_in, bytes_out, retries, latency, first_byte, breakdown,
        minute_ms, node, router, service
      ) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`)
    this.#update = sqlite.prepare(`
      update traffic set
        informational = informational + ?, success = success + ?, redirection = redirection + ?,
        client_error = client_error + ?, server_error = server_error + ?, none = none + ?,
        bytes_in = bytes_in + ?, bytes_out = bytes_out + ?, retries = retries + ?,
        latency = ?, first_byte = ?, breakdown = ?
      where ${isKey}`)
  }

  /** Within a transaction of the same database. Tells how many rows are new. */
  add(rows: readonly TrafficRecord[], merge: Merge): number {
    let added = 0
    for (const row of rows) {
      const stored = this.#find.get(row.minute_ms, row.node, row.router, row.service)
      if (stored === undefined) {
        this.#run(this.#insert, row, [row.latency, row.first_byte, row.breakdown])
        added += 1
        continue
      }
      const [latency, firstByte, breakdown] = stored
      this.#run(this.#update, row, [
        merge(latency, row.latency),
        merge(firstByte, row.first_byte),
        merge(breakdown, row.breakdown),
      ])
    }
    return added
  }

  #run(statement: SQLite.Statement, row: TrafficRecord, blobs: Blobs): void {
    statement.run(
      row.informational,
      row.success,
      row.redirection,
      row.client_error,
      row.server_error,
      row.none,
      row.bytes_in,
      row.bytes_out,
      row.retries,
      blobs[0],
      blobs[1],
      blobs[2],
      row.minute_ms,
      row.node,
      row.router,
      row.service,
    )
  }
}

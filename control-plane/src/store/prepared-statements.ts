/**
 * A SQLite database that prepares each statement once. Kysely prepares anew for every query, and what a
 * statement takes outside of V8's heap is given back only by a full collection: with a thousand nodes that was
 * hundreds of megabytes, and a fifth of the time.
 */
import type SQLite from 'better-sqlite3'
import type { SqliteDatabase, SqliteStatement } from 'kysely'

const statementsMax = 200
/** Longer ones have a parameter for each field of many rows: they take much memory, and rarely come twice. */
const charactersMax = 4_096

export class PreparedStatements implements SqliteDatabase {
  readonly #sqlite: SQLite.Database
  /** By their text, the one that was used last at the end. */
  readonly #statements = new Map<string, SqliteStatement>()

  constructor(sqlite: SQLite.Database) {
    this.#sqlite = sqlite
  }

  prepare(text: string): SqliteStatement {
    if (text.length > charactersMax) return this.#sqlite.prepare(text)
    const statement = this.#statements.get(text) ?? this.#sqlite.prepare(text)
    this.#statements.delete(text)
    this.#statements.set(text, statement)
    const [oldest] = this.#statements.keys()
    if (this.#statements.size > statementsMax && oldest !== undefined) {
      this.#statements.delete(oldest)
    }
    return statement
  }

  /** For when the schema has changed. */
  forget(): void {
    this.#statements.clear()
  }

  close(): void {
    this.forget()
    this.#sqlite.close()
  }
}

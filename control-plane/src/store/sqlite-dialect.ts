/** Kysely's SQLite dialect, over statements that are kept and a transaction that SQLite may have ended itself. */
import type SQLite from 'better-sqlite3'
import { type DatabaseConnection, type Driver, SqliteDialect, SqliteDriver } from 'kysely'
import type { PreparedStatements } from './prepared-statements.ts'

export class KeptSqliteDialect extends SqliteDialect {
  readonly #sqlite: SQLite.Database
  readonly #statements: PreparedStatements

  constructor(sqlite: SQLite.Database, statements: PreparedStatements) {
    super({ database: statements })
    this.#sqlite = sqlite
    this.#statements = statements
  }

  override createDriver(): Driver {
    return new SelfEndingDriver(this.#sqlite, this.#statements)
  }
}

/**
 * Where the disk is full SQLite rolls back by itself (https://www.sqlite.org/lang_transaction.html, section 3.1).
 * Rolling back once more is an error, which would hide the one that tells why.
 */
class SelfEndingDriver extends SqliteDriver {
  readonly #sqlite: SQLite.Database

  constructor(sqlite: SQLite.Database, database: PreparedStatements) {
    super({ database })
    this.#sqlite = sqlite
  }

  override async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    if (this.#sqlite.inTransaction) await super.rollbackTransaction(connection)
  }
}

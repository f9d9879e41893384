/**
 * Keeps a second control plane off a data directory. SQLite's own file lock does it, since the operating
 * system ends it with the process however that ends: a file with a process id in it would stay behind.
 */
import SQLite from 'better-sqlite3'

export class DirectoryLock {
  readonly #holder: SQLite.Database

  private constructor(holder: SQLite.Database) {
    this.#holder = holder
  }

  /** Undefined: someone else holds it. */
  static acquire(file: string): DirectoryLock | undefined {
    const holder = new SQLite(file, { timeout: 0 })
    try {
      holder.exec('begin exclusive')
      return new DirectoryLock(holder)
    } catch (error) {
      holder.close()
      if (error instanceof SQLite.SqliteError && error.code === 'SQLITE_BUSY') return undefined
      throw error
    }
  }

  release(): void {
    this.#holder.close()
  }
}

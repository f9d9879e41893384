/** What is wrong with a database for reasons outside of it, so that the same write may work later. */
import SQLite from 'better-sqlite3'

export type DatabaseTrouble = 'disk-full' | 'busy'

/** Undefined: the error is another one. */
export function databaseTroubleOf(error: unknown): DatabaseTrouble | undefined {
  if (!(error instanceof SQLite.SqliteError)) return undefined
  const { code } = error
  // The log of writes is extended before a commit, and where that fails SQLite tells an error of writing.
  if (code === 'SQLITE_FULL' || code === 'SQLITE_IOERR_WRITE') return 'disk-full'
  return code.startsWith('SQLITE_BUSY') ? 'busy' : undefined
}

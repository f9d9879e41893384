/** What is done with the file of a database as a whole. */
import SQLite from 'better-sqlite3'
import { explain, StartError } from '../errors.ts'

/** Enough that a copy is quick, and writers wait for no longer than a step. */
const pagesPerStep = 4_096

/**
 * Copies the state that the database had at one moment, also while others write to it: SQLite's online backup
 * (https://www.sqlite.org/backup.html).
 */
export async function copyDatabase(from: string, to: string): Promise<void> {
  try {
    const source = new SQLite(from, { readonly: true, fileMustExist: true })
    try {
      await source.backup(to, { progress: () => pagesPerStep })
    } finally {
      source.close()
    }
  } catch (error) {
    throw explain(error, `the database ${from} cannot be copied`)
  }
}

/** Throws a StartError with the first thing that is wrong with the file. */
export function assertWhole(file: string): void {
  const wrong = read(file, (db) => db.pragma('integrity_check(1)', { simple: true }))
  if (wrong !== 'ok')
    throw new StartError(`${file} is damaged: ${String(wrong).replaceAll('\n', ' ')}`)
}

/** Of the versions table of sluice.db. */
export function newestVersionOf(file: string): { version: number; hash: string } {
  const select = 'select number, hash from version order by number desc limit 1'
  const row = read(file, (db) => db.prepare<[], { number: number; hash: string }>(select).get())
  if (row === undefined) return { version: 0, hash: '' }
  const { number, hash } = row
  return { version: number, hash }
}

function read<T>(file: string, look: (db: SQLite.Database) => T): T {
  try {
    const db = new SQLite(file, { fileMustExist: true })
    try {
      return look(db)
    } finally {
      db.close()
    }
  } catch (error) {
    throw explain(error, `${file} cannot be read`)
  }
}

/**
 * Opens the two database files of a control plane: pragmas, migrations, and the row types of both. What
 * the nodes report has a file of its own, so that a burst of telemetry never delays a publish: kysely's
 * SQLite connection is one mutex.
 */
import { statSync } from 'node:fs'
import SQLite from 'better-sqlite3'
import { Kysely } from 'kysely'
import { type Migration, Migrator } from 'kysely/migration'
import type { AuditTables } from './audit-tables.ts'
import type { ConfigurationTables } from './configuration-tables.ts'
import type { FleetTables } from './fleet-tables.ts'
import type { HistoryTables } from './history-tables.ts'
import * as configuration001 from './migrations/001-configuration.ts'
import * as fleet002 from './migrations/002-fleet.ts'
import * as history003 from './migrations/003-history.ts'
import * as delivery004 from './migrations/004-delivery.ts'
import * as stages005 from './migrations/005-stages.ts'
import * as sessions006 from './migrations/006-sessions.ts'
import * as people007 from './migrations/007-people.ts'
import * as audit008 from './migrations/008-audit.ts'
import * as acceptedHistory011 from './migrations/011-accepted-history.ts'
import * as sealedAnswers012 from './migrations/012-sealed-answers.ts'
import { MinuteRows } from './minute-rows.ts'
import type { PeopleTables } from './people-tables.ts'
import { PreparedStatements } from './prepared-statements.ts'
import { KeptSqliteDialect } from './sqlite-dialect.ts'
import * as telemetry001 from './telemetry-migrations/001-telemetry.ts'
import * as analytics002 from './telemetry-migrations/002-analytics.ts'
import type { TelemetryTables } from './telemetry-tables.ts'

/** The tables of sluice.db. */
export interface Tables
  extends ConfigurationTables,
    FleetTables,
    HistoryTables,
    PeopleTables,
    AuditTables {}

export type Database = Kysely<Tables>
export type TelemetryDatabase = Kysely<TelemetryTables>

const busyTimeoutMs = 5_000
/** A file up to this size is checked as a whole at each start, in less than a second or two. */
const checkedBytesMax = 512 * 2 ** 20

/** What is in the file is not what SQLite left there. */
export class DamagedDatabaseError extends Error {
  override readonly name = 'DamagedDatabaseError'
}

/** Opens sluice.db, made new when it is not there, and brings it to the newest schema. */
export async function openDatabase(file: string): Promise<Database> {
  const { db } = await open<Tables>(file, {
    '001-configuration': configuration001,
    '002-fleet': fleet002,
    '003-history': history003,
    '004-delivery': delivery004,
    '005-stages': stages005,
    '006-sessions': sessions006,
    '007-people': people007,
    '008-audit': audit008,
    '011-accepted-history': acceptedHistory011,
    '012-sealed-answers': sealedAnswers012,
  })
  return db
}

/** The statements of a database of openTelemetryDatabase; they share its connection and its transactions. */
export function minuteRowsOf(db: TelemetryDatabase): MinuteRows {
  const rows = minuteRows.get(db)
  if (rows === undefined) throw new Error('not a database that was opened here')
  return rows
}

const minuteRows = new WeakMap<TelemetryDatabase, MinuteRows>()

/** Opens telemetry.db, made new when it is not there, and brings it to the newest schema. */
export async function openTelemetryDatabase(file: string): Promise<TelemetryDatabase> {
  const { db, sqlite } = await open<TelemetryTables>(file, {
    '001-telemetry': telemetry001,
    '002-analytics': analytics002,
  })
  minuteRows.set(db, new MinuteRows(sqlite))
  return db
}

interface Opened<T> {
  readonly db: Kysely<T>
  readonly sqlite: SQLite.Database
}

async function open<T>(file: string, migrations: Record<string, Migration>): Promise<Opened<T>> {
  const sqlite = new SQLite(file)
  try {
    assertSound(sqlite, file)
    sqlite.pragma('journal_mode = WAL')
    sqlite.pragma('foreign_keys = ON')
    sqlite.pragma(`busy_timeout = ${busyTimeoutMs}`)
    // With WAL, a power cut can lose the last transactions but never corrupt the file.
    sqlite.pragma('synchronous = NORMAL')
  } catch (error) {
    sqlite.close()
    throw error
  }
  const statements = new PreparedStatements(sqlite)
  const db = new Kysely<T>({ dialect: new KeptSqliteDialect(sqlite, statements) })
  const migrator = new Migrator({ db, provider: { getMigrations: async () => migrations } })
  const { error } = await migrator.migrateToLatest()
  if (error !== undefined) {
    await db.destroy()
    throw error
  }
  statements.forget()
  return { db, sqlite }
}

/** A large file of telemetry is looked at where it is read. */
function assertSound(sqlite: SQLite.Database, file: string): void {
  let wrong: unknown
  try {
    wrong =
      !sqlite.memory && statSync(file).size > checkedBytesMax
        ? 'ok'
        : sqlite.pragma('quick_check(1)', { simple: true })
  } catch (error) {
    const isDamaged = error instanceof SQLite.SqliteError && /CORRUPT|NOTADB/.test(error.code)
    if (!isDamaged) throw error
    wrong = error.message
  }
  if (wrong !== 'ok') throw new DamagedDatabaseError(String(wrong).replaceAll('\n', ' '))
}

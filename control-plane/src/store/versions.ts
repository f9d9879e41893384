/** SQL of versions and of the resources' states over them. */
import type { Insertable, Selectable } from 'kysely'
import type { ResourceTable, VersionTable } from './configuration-tables.ts'
import type { Database } from './database.ts'

export type VersionRow = Selectable<VersionTable>
export type ResourceRow = Selectable<ResourceTable>

/** SQLite takes 32,766 parameters in a statement; a resource row has eight. */
const rowsPerStatement = 1_000

export async function insertVersion(
  db: Database,
  version: Insertable<VersionTable>,
): Promise<void> {
  await db.insertInto('version').values(version).execute()
}

/** Ends the current states of some resources of one kind with the version that is being published. */
export async function endResources(
  db: Database,
  kind: string,
  names: readonly string[],
  version: number,
): Promise<void> {
  for (let at = 0; at < names.length; at += rowsPerStatement) {
    await db
      .updateTable('resource')
      .set({ until_version: version })
      .where('kind', '=', kind)
      .where('name', 'in', names.slice(at, at + rowsPerStatement))
      .where('until_version', 'is', null)
      .execute()
  }
}

export type NewResource = Omit<Insertable<ResourceTable>, 'until_version'>

export async function insertResources(db: Database, rows: readonly NewResource[]): Promise<void> {
  for (let at = 0; at < rows.length; at += rowsPerStatement) {
    await db
      .insertInto('resource')
      .values(rows.slice(at, at + rowsPerStatement))
      .execute()
  }
}

export function currentResources(db: Database): Promise<ResourceRow[]> {
  return db
    .selectFrom('resource')
    .selectAll()
    .where('until_version', 'is', null)
    .orderBy('kind')
    .orderBy('name')
    .execute()
}

/** What the configuration was in one version. */
export function resourcesAt(db: Database, version: number): Promise<ResourceRow[]> {
  return db
    .selectFrom('resource')
    .selectAll()
    .where('since_version', '<=', version)
    .where((is) => is.or([is('until_version', 'is', null), is('until_version', '>', version)]))
    .orderBy('kind')
    .orderBy('name')
    .execute()
}

/** The states that hold in one version and not in another one, by kind and name. */
export function statesApart(
  db: Database,
  { held, missing }: { readonly held: number; readonly missing: number },
): Promise<Pick<ResourceRow, 'kind' | 'name' | 'body'>[]> {
  return db
    .selectFrom('resource')
    .select(['kind', 'name', 'body'])
    .where('since_version', '<=', held)
    .where((is) => is.or([is('until_version', 'is', null), is('until_version', '>', held)]))
    .where((is) => is.or([is('since_version', '>', missing), is('until_version', '<=', missing)]))
    .execute()
}

/** The newest version that is older than another one. */
export function versionBefore(db: Database, number: number): Promise<VersionRow | undefined> {
  return db
    .selectFrom('version')
    .selectAll()
    .where('number', '<', number)
    .orderBy('number', 'desc')
    .limit(1)
    .executeTakeFirst()
}

export interface VersionsToKeep {
  readonly alwaysKept: number
  readonly countMax: number
  /** Versions made before are removed. */
  readonly createdBeforeMs: number
}

/**
 * Removes old versions with the states that no other version holds. Versions that nodes run stay.
 */
export function removeOldVersions(db: Database, keep: VersionsToKeep): Promise<number> {
  return db.transaction().execute(async (tx) => {
    const nth = (count: number) =>
      tx
        .selectFrom('version')
        .select('number')
        .orderBy('number', 'desc')
        .limit(1)
        .offset(count - 1)
    const { numDeletedRows } = await tx
      .deleteFrom('version')
      .where('number', '<', nth(keep.alwaysKept))
      .where((is) =>
        is.or([
          is('number', '<', nth(keep.countMax)),
          is('created_at_ms', '<', keep.createdBeforeMs),
        ]),
      )
      .where('number', 'not in', (from) =>
        from.selectFrom('node').select('version').where('revoked_at_ms', 'is', null),
      )
      .executeTakeFirstOrThrow()
    if (numDeletedRows === 0n) return 0
    await tx
      .deleteFrom('resource')
      .where('until_version', 'is not', null)
      .where(({ not, exists, selectFrom }) =>
        not(
          exists(
            selectFrom('version')
              .select('version.number')
              .whereRef('version.number', '>=', 'resource.since_version')
              .whereRef('version.number', '<', 'resource.until_version'),
          ),
        ),
      )
      .execute()
    return Number(numDeletedRows)
  })
}

export function newestVersion(db: Database): Promise<VersionRow | undefined> {
  return db.selectFrom('version').selectAll().orderBy('number', 'desc').limit(1).executeTakeFirst()
}

export function findVersion(db: Database, number: number): Promise<VersionRow | undefined> {
  return db.selectFrom('version').selectAll().where('number', '=', number).executeTakeFirst()
}

/** Newest first. */
export function listVersions(db: Database, limit: number, offset: number): Promise<VersionRow[]> {
  return db
    .selectFrom('version')
    .selectAll()
    .orderBy('number', 'desc')
    .limit(limit)
    .offset(offset)
    .execute()
}

export async function countVersionsAfter(db: Database, number: number): Promise<number> {
  const { count } = await db
    .selectFrom('version')
    .select((is) => is.fn.countAll<number>().as('count'))
    .where('number', '>', number)
    .executeTakeFirstOrThrow()
  return count
}

export async function countVersions(db: Database): Promise<number> {
  const { count } = await db
    .selectFrom('version')
    .select((is) => is.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return count
}

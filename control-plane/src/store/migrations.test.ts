import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import SQLite from 'better-sqlite3'
import { Kysely, SqliteDialect } from 'kysely'
import { Migrator } from 'kysely/migration'
import { expect, it } from 'vitest'
import { RunningControlPlane } from '../admin-api/testing/running-control-plane.ts'
import { openDatabase, type Tables } from './database.ts'
import * as configuration001 from './migrations/001-configuration.ts'
import * as fleet002 from './migrations/002-fleet.ts'

const earlier = { '001-configuration': configuration001, '002-fleet': fleet002 }

async function openEarlier(file: string): Promise<Kysely<Tables>> {
  const db = new Kysely<Tables>({ dialect: new SqliteDialect({ database: new SQLite(file) }) })
  const migrator = new Migrator({ db, provider: { getMigrations: async () => earlier } })
  const { error } = await migrator.migrateToLatest()
  if (error !== undefined) throw error
  return db
}

it('a database from before labels and drafts keeps its versions, with the same hashes', async () => {
  const running = await RunningControlPlane.start()
  await running.apply({ kind: 'service', name: 's', servers: [{ url: 'http://h:1' }] })
  await running.patch('/services/s', { queueMax: 1 })
  const before = (await running.get('/versions')).body.items
  await running.stop()
  const file = join(running.dataDir, 'sluice.db')
  const now = await openDatabase(file)
  const versions = await now.selectFrom('version').selectAll().execute()
  const resources = await now.selectFrom('resource').selectAll().execute()
  const authority = await now.selectFrom('authority').selectAll().execute()
  await now.destroy()

  await rm(file)
  const old = await openEarlier(file)
  await old.insertInto('version').values(versions).execute()
  for (const { until_version, body, ...row } of resources) {
    const { labels: _, versions: __, ...spec } = JSON.parse(body)
    await old
      .insertInto('resource')
      .values({ ...row, body: JSON.stringify(spec) })
      .execute()
    if (until_version === null) continue
    await old
      .updateTable('resource')
      .set({ until_version })
      .where('kind', '=', row.kind)
      .where('since_version', '=', row.since_version)
      .execute()
  }
  await old.insertInto('authority').values(authority).execute()
  await old.destroy()

  await running.startAgain()
  expect((await running.get('/versions')).body.items).toEqual(before)
  expect((await running.get('/versions/1/diff/2')).body.items).toMatchObject([
    { name: 's', fields: [{ field: 'queueMax', before: 1_024, after: 1 }] },
  ])
  expect((await running.get('/services/s')).body.labels).toEqual({})
  expect((await running.post('/versions/1/rollback')).body.version).toBe(3)
  await running.remove()
})

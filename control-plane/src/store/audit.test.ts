/** The audit log as SQLite keeps it: append-only, chained, shortened only from its start. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import SQLite from 'better-sqlite3'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { RunningControlPlane } from '../admin-api/testing/running-control-plane.ts'
import type { AuditEntry } from '../model/audit-entry.ts'
import { AuditLog } from '../people/audit-log.ts'
import { type Database, openDatabase } from './database.ts'

const dayMs = 86_400_000
const entry: AuditEntry = {
  who: 'ada',
  via: 'session',
  address: '10.0.0.1',
  action: 'publish',
  object: 'version 1',
  changes: [],
  result: 'done',
}

let directory: string
let db: Database
let sqlite: SQLite.Database
let nowMs: number
let audit: AuditLog

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'sluice-audit-'))
  const file = join(directory, 'sluice.db')
  db = await openDatabase(file)
  sqlite = new SQLite(file)
  nowMs = 1_000 * dayMs
  audit = new AuditLog({ db, daysMax: 30, now: () => nowMs })
  for (let count = 0; count < 5; count += 1) {
    await audit.record({ ...entry, object: `version ${count}` })
    nowMs += 10 * dayMs
  }
})

afterEach(async () => {
  sqlite.close()
  await db.destroy()
  await rm(directory, { recursive: true })
})

it.each([
  ['a change', "update audit set who = 'eve' where number = 2"],
  ['a removal of the newest', 'delete from audit where number = 5'],
  ['a removal of all', 'delete from audit'],
  [
    'a row in place of another',
    'insert or replace into audit select * from audit where number = 2',
  ],
  [
    'a row out of order',
    "insert into audit select 9, time_ms, 'eve', via, address, action, object, changes, result, hash from audit where number = 5",
  ],
  ['a start that is no row', 'update audit_start set number = 2, hash = zeroblob(32)'],
  ['no start', 'delete from audit_start'],
  ['another start', 'insert into audit_start values (2, 0, zeroblob(32))'],
])('SQLite refuses %s', async (_what, statement) => {
  expect(() => sqlite.exec(statement)).toThrow(/audit log/)
  expect(await audit.verify()).toMatchObject({ isIntact: true, rows: 5 })
})

it.each([
  ['a changed row', "update audit set who = 'eve' where number = 2", 'row 2 was changed', 1],
  ['a missing row', 'delete from audit where number = 3', 'row 3 is missing', 2],
  ['missing first rows', 'delete from audit where number < 3', 'row 1 is missing', 0],
  [
    'a changed hash',
    'update audit set hash = zeroblob(32) where number = 5',
    'row 5 was changed',
    4,
  ],
  [
    'a later start',
    'update audit_start set number = 2; delete from audit where number < 3',
    'row 3 was changed',
    0,
  ],
])('whoever gets around that with %s is found', async (_what, statements, problem, rows) => {
  const triggers = sqlite.prepare("select name from sqlite_master where type = 'trigger'").all()
  for (const { name } of triggers as { name: string }[]) sqlite.exec(`drop trigger ${name}`)
  sqlite.exec(statements)
  expect(await audit.verify()).toMatchObject({ isIntact: false, problem, rows })
})

it('removes what is too old, says so, and what is left is still verifiable', async () => {
  const before = await audit.list({}, { limit: 10 })
  expect(await audit.removeOld()).toBe(2)
  const { items } = await audit.list({}, { limit: 10 })
  expect(items[0]).toMatchObject({ action: 'remove-old-audit', object: 'rows up to 2', number: 6 })
  expect(items.slice(1)).toEqual(before.items.slice(0, 3))
  const removed = before.items.find(({ number }) => number === 2)
  expect(await audit.verify()).toMatchObject({
    isIntact: true,
    rows: 4,
    start: { number: 2, hash: removed?.hash },
  })
  expect(await audit.removeOld()).toBeUndefined()
})

it('goes on where it was when all of its rows were too old', async () => {
  nowMs += 1_000 * dayMs
  expect(await audit.removeOld()).toBe(5)
  expect(await audit.verify()).toMatchObject({ isIntact: true, rows: 1, end: { number: 6 } })
})

it('rows that are written at the same time are all there, in one chain', async () => {
  await Promise.all(Array.from({ length: 100 }, () => audit.record(entry)))
  expect(await audit.verify()).toMatchObject({ isIntact: true, rows: 105 })
})

it('nothing is published that the audit log cannot take', async () => {
  const running = await RunningControlPlane.start()
  const service = { kind: 'service', name: 's', servers: [{ url: 'http://h:1' }] }
  await running.apply(service)
  const file = new SQLite(join(running.dataDir, 'sluice.db'))
  file.exec("create trigger full before insert on audit begin select raise(abort, 'no more'); end")
  expect((await running.apply({ ...service, queueMax: 3 })).status).toBe(500)
  expect([await running.version(), (await running.get('/services/s')).body.queueMax]).toEqual([
    1, 1_024,
  ])
  file.exec('drop trigger full')
  file.close()
  expect((await running.apply({ ...service, queueMax: 3 })).body.version).toBe(2)
  await running.stop()
  await running.startAgain()
  const { items } = (await running.get('/audit?action=publish')).body
  expect(items.map(({ object }: { object: string }) => object)).toEqual(['version 2', 'version 1'])
  await running.remove()
})

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import SQLite from 'better-sqlite3'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { PreparedStatements } from './prepared-statements.ts'

let directory: string
let sqlite: SQLite.Database
let statements: PreparedStatements

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'sluice-statements-'))
  sqlite = new SQLite(join(directory, 'test.db'))
  sqlite.exec('create table part (name text)')
  statements = new PreparedStatements(sqlite)
})

afterEach(async () => {
  statements.close()
  await rm(directory, { recursive: true })
})

it('prepares the same text once', () => {
  const text = 'select name from part where name = ?'
  expect(statements.prepare(text)).toBe(statements.prepare(text))
})

it('lets go of the one that was not used for longest', () => {
  const textOf = (index: number) => `select name, ${index} from part`
  const [first, second] = [statements.prepare(textOf(0)), statements.prepare(textOf(1))]
  for (let index = 2; index < 201; index += 1) {
    statements.prepare(textOf(0))
    statements.prepare(textOf(index))
  }
  expect(statements.prepare(textOf(0))).toBe(first)
  expect(statements.prepare(textOf(1))).not.toBe(second)
})

it('does not keep long texts', () => {
  const text = `select name from part where name in (${Array(2_000).fill('?').join(', ')})`
  expect(statements.prepare(text)).not.toBe(statements.prepare(text))
})

it('sees a column that was added after a statement was prepared', () => {
  const text = 'select * from part'
  statements.prepare("insert into part (name) values ('a')").run([])
  expect(statements.prepare(text).all([])).toEqual([{ name: 'a' }])
  sqlite.exec("alter table part add column size text default 'b'")
  statements.forget()
  expect(statements.prepare(text).all([])).toEqual([{ name: 'a', size: 'b' }])
})

import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Logger, pino } from 'pino'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { ResourceSet } from './resource-set.ts'
import { entryPoint, router } from './resources.fixture.ts'
import { type StoredVersion, VersionStore } from './version-store.ts'

let folder: string
let log: string[]
let logger: Logger

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sluice-versions-'))
  log = []
  logger = pino({}, { write: (line: string) => void log.push(line) })
})

afterEach(async () => {
  await rm(folder, { recursive: true, force: true })
})

function version(number: bigint): StoredVersion {
  const resources = ResourceSet.fromSnapshot({
    resources: [entryPoint('web', '127.0.0.1:80'), router(`secret-name-${number}`, 's')],
  })
  return { version: number, hash: resources.hash(), resources, appliedAtMs: 1_700_000_000_000 }
}

async function reload(): Promise<bigint[]> {
  const store = await VersionStore.open(folder, logger)
  return (await store.load()).map(({ version }) => version)
}

async function damage(name: string): Promise<void> {
  const path = join(folder, 'versions', name)
  const content = await readFile(path)
  content[content.length - 1] = (content.at(-1) ?? 0) ^ 1
  await writeFile(path, content)
}

it('gives back the last two versions whole', async () => {
  const store = await VersionStore.open(folder, logger)
  for (const number of [1n, 2n, 3n]) await store.save(version(number))
  const [newest] = await (await VersionStore.open(folder, logger)).load()
  expect(newest?.resources.resources()).toEqual(version(3n).resources.resources())
  expect(newest).toMatchObject({ hash: version(3n).hash, appliedAtMs: 1_700_000_000_000 })
  expect(await reload()).toEqual([3n, 2n])
})

it('seals what it writes, for its owner only', async () => {
  const store = await VersionStore.open(folder, logger)
  await store.save(version(1n))
  const path = join(folder, 'versions', 'current')
  expect((await readFile(path)).includes('secret-name')).toBe(false)
  expect((await stat(path)).mode & 0o777).toBe(0o600)
  expect((await stat(join(folder, 'version-key'))).mode & 0o777).toBe(0o600)
})

it('falls back to the version before when the last one is damaged, and warns', async () => {
  const store = await VersionStore.open(folder, logger)
  await store.save(version(1n))
  await store.save(version(2n))
  await damage('current')
  expect(await reload()).toEqual([1n])
  expect(log.join('')).toContain('a stored version cannot be read')
})

it('has none when both are damaged, and can write again', async () => {
  const store = await VersionStore.open(folder, logger)
  await store.save(version(1n))
  await store.save(version(2n))
  await damage('current')
  await damage('previous')
  expect(await reload()).toEqual([])
  await store.save(version(3n))
  expect(await reload()).toEqual([3n])
})

it('cannot be read with another key', async () => {
  const store = await VersionStore.open(folder, logger)
  await store.save(version(1n))
  await rm(join(folder, 'version-key'))
  expect(await reload()).toEqual([])
})

it('keeps the version before when the same one is saved again', async () => {
  const store = await VersionStore.open(folder, logger)
  await store.save(version(1n))
  await store.save(version(2n))
  await store.save(version(2n))
  expect(await reload()).toEqual([2n, 1n])
})

it('clears away what a write left that was cut off', async () => {
  const store = await VersionStore.open(folder, logger)
  await store.save(version(1n))
  await writeFile(join(folder, 'versions', 'current.0123.tmp'), 'half')
  expect(await reload()).toEqual([1n])
  expect(await readdir(join(folder, 'versions'))).toEqual(['current'])
})

import { pino } from 'pino'
import { expect, it } from 'vitest'
import { ResourceSet } from './resource-set.ts'
import { VersionKeeper } from './version-keeper.ts'
import type { StoredVersion } from './version-store.ts'
import { waitFor } from './wait-for.fixture.ts'

const versionOf = (version: bigint): StoredVersion => ({
  version,
  hash: `${version}`,
  resources: ResourceSet.fromSnapshot({ resources: [] }),
  appliedAtMs: 0,
})

it('tries again until the disk takes the newest version, says so once, and writes no older one after it', async () => {
  const log: string[] = []
  const saved: bigint[] = []
  let isFull = true
  let tries = 0
  const save = async ({ version }: StoredVersion) => {
    tries += 1
    if (isFull) throw new Error('ENOSPC: no space left on device, write')
    saved.push(version)
  }
  const logger = pino({ level: 'info' }, { write: (line: string) => void log.push(line) })
  const keeper = new VersionKeeper({ save }, logger, 5)
  await keeper.keep(versionOf(1n))
  await waitFor(() => tries >= 3, 'two more tries')
  await Promise.all([keeper.keep(versionOf(2n)), keeper.keep(versionOf(3n))])
  expect(keeper.problem).toMatch(/^version 3 runs and is not stored.*ENOSPC/)
  isFull = false
  await waitFor(() => keeper.problem === undefined, 'a write')
  keeper.stop()
  expect(new Set(saved)).toEqual(new Set([3n]))
  expect(log.filter((line) => line.includes('could not be written'))).toHaveLength(2)
  expect(log.filter((line) => line.includes('stored again'))).toHaveLength(1)
})

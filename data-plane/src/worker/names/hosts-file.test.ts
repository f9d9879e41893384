import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { HostsFile, parseHosts } from './hosts-file.ts'

it('gives each name all of its addresses, whatever the case, spaces and comments', () => {
  const text = [
    '# 10.0.0.9 commented',
    '10.0.0.1 One  two.test\t# three.test',
    '  ::1\tone',
    '10.0.0.1 one',
    'nonsense one',
    '10.0.0.3',
    '10.0.0.2 two.test\r',
  ].join('\n')
  expect(Object.fromEntries(parseHosts(text))).toEqual({
    one: ['10.0.0.1', '::1'],
    'two.test': ['10.0.0.1', '10.0.0.2'],
  })
})

it('follows changes of the file, and its end', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-hosts-'))
  const path = join(folder, 'hosts')
  const file = new HostsFile(path)
  expect(await file.addressesOf('one')).toBeUndefined()
  await writeFile(path, '10.0.0.1 one\n')
  expect(await file.addressesOf('one')).toEqual(['10.0.0.1'])
  await rm(path)
  expect(await file.addressesOf('one')).toBeUndefined()
  await rm(folder, { recursive: true })
})

import { randomBytes } from 'node:crypto'
import { mkdtemp, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { CertificateAuthority } from './certificates/authority.ts'
import { MasterKey } from './master-key.ts'
import { type Database, openDatabase } from './store/database.ts'
import { Vault } from './store/vault.ts'

const now = () => Date.now()
const none = {
  masterKey: undefined,
  masterKeyBefore: undefined,
  masterKeyFile: undefined,
  masterKeyCommand: undefined,
}

let directory: string
let file: string
let db: Database

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'sluice-master-key-'))
  file = join(directory, 'master-key')
  db = await openDatabase(join(directory, 'sluice.db'))
})
afterEach(async () => {
  await db.destroy()
  await rm(directory, { recursive: true })
})

/** Opens what only the right key opens. */
function fingerprint(vault: Vault): Promise<string> {
  return CertificateAuthority.open({ db, vault, now }).then((authority) => authority.fingerprint)
}

it('is replaced while it is in use: nothing needs the key before, and what was sealed in between opens', async () => {
  const first = await MasterKey.open(none, file)
  const before = await fingerprint(first.vault)
  const oldText = await readFile(file, 'utf8')
  const sealedBefore = first.vault.seal(Buffer.from('x'), 'c')
  const [rotation, same] = await Promise.all([first.rotate(db), first.rotate(db)])
  expect(rotation).toEqual(same)
  expect(rotation).toMatchObject({ keyId: first.vault.keyId, resealed: 1 })
  expect(rotation?.previousKeyId).not.toBe(rotation?.keyId)
  expect(Buffer.from(first.vault.open(sealedBefore, 'c')).toString()).toBe('x')
  expect(await readFile(file, 'utf8')).not.toBe(oldText)
  expect((await stat(file)).mode & 0o777).toBe(0o600)
  const second = await MasterKey.open(none, file)
  expect(await fingerprint(second.vault)).toBe(before)
  const old = new Vault(Buffer.from(oldText.trim(), 'base64'))
  await expect(fingerprint(old)).rejects.toThrow('cannot be unsealed')
})

it('is finished at the next start when it was cut off before anything was sealed anew', async () => {
  const authority = await fingerprint((await MasterKey.open(none, file)).vault)
  await writeFile(`${file}.next`, randomBytes(32).toString('base64'))
  await expectFinished(authority)
})

it('is finished at the next start when it was cut off before the file got its name', async () => {
  const first = await MasterKey.open(none, file)
  const authority = await fingerprint(first.vault)
  const oldText = await readFile(file, 'utf8')
  await first.rotate(db)
  await rename(file, `${file}.next`)
  await writeFile(file, oldText)
  await expectFinished(authority)
})

async function expectFinished(authority: string): Promise<void> {
  const next = await readFile(`${file}.next`, 'utf8')
  await (await MasterKey.open(none, file)).finish(db)
  await expect(stat(`${file}.next`)).rejects.toThrow('ENOENT')
  expect(await readFile(file, 'utf8')).toBe(next)
  expect(await fingerprint((await MasterKey.open(none, file)).vault)).toBe(authority)
}

it('comes from a command, bounded in time and output, whose words are not repeated', async () => {
  const key = randomBytes(32)
  const text = key.toString('base64')
  const asked = { ...none, masterKeyCommand: `echo ${text}` }
  const given = await MasterKey.open(asked, file)
  expect(given.vault.keyId).toBe(new Vault(key).keyId)
  expect(await given.rotate(db)).toBeUndefined()
  const wrong = { ...none, masterKeyCommand: 'echo hush; exit 3' }
  await expect(MasterKey.open(wrong, file)).rejects.toThrow(
    '--master-key-command gave no key: it ended with 3',
  )
  const noKey = { ...none, masterKeyCommand: 'echo hush' }
  await expect(MasterKey.open(noKey, file)).rejects.toThrow(
    /^(?!.*hush).*does not hold a master key/,
  )
})

it('from the environment is replaced by a start with both', async () => {
  const [before, after] = [randomBytes(32), randomBytes(32)].map((key) => key.toString('base64'))
  const first = await MasterKey.open({ ...none, masterKey: before }, file)
  const authority = await fingerprint(first.vault)
  const both = { ...none, masterKey: after, masterKeyBefore: before }
  await (await MasterKey.open(both, file)).finish(db)
  const alone = await MasterKey.open({ ...none, masterKey: after }, file)
  expect(await fingerprint(alone.vault)).toBe(authority)
})

it('opens what an earlier release sealed', () => {
  const key = randomBytes(32)
  const sealed = Buffer.from(new Vault(key).seal(Buffer.from('x'), 'c'))
  const withoutId = Buffer.concat([Buffer.of(1), sealed.subarray(5)])
  const vault = new Vault(randomBytes(32), [key])
  expect(Buffer.from(vault.open(withoutId, 'c')).toString()).toBe('x')
})

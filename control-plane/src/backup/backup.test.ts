import { execFile } from 'node:child_process'
import { copyFile, mkdtemp, open, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { RunningControlPlane } from '../admin-api/testing/running-control-plane.ts'
import { StartError } from '../errors.ts'
import { restore, verify } from './restore.ts'

const program = fileURLToPath(new URL('../main.ts', import.meta.url))
/** A program's start and scrypt, several times in a test. */
const PATIENT = { timeout: 60_000 }
const PASSPHRASE = 'correct horse'

let folder: string
let api: RunningControlPlane
const at = (name: string) => join(folder, name)

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sluice-backup-test-'))
  api = await RunningControlPlane.start()
  await writeFile(at('passphrase'), `${PASSPHRASE}\n`)
})

afterEach(async () => {
  await api.remove()
  await rm(folder, { recursive: true })
})

interface Ended {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

function run(...args: string[]): Promise<Ended> {
  const { promise, resolve } = Promise.withResolvers<Ended>()
  const env = { ...process.env, SLUICE_PASSPHRASE: '' }
  execFile(process.execPath, [program, ...args], { env }, (error, stdout, stderr) =>
    resolve({ code: Number(error?.code ?? 0), stdout, stderr }),
  )
  return promise
}

const backup = (file: string, ...more: string[]) =>
  run('backup', at(file), '--data-dir', api.dataDir, ...more)
const withPassphrase = () => ['--passphrase-file', at('passphrase')]
const service = (port: number) => ({ servers: [{ url: `http://127.0.0.1:${port}` }] })

/** Starts on another directory in place of the first; the versions there by number. */
async function versionsIn(directory: string): Promise<Record<number, string>> {
  const other = await RunningControlPlane.startIn(directory)
  try {
    const { body } = await other.get('/versions?limit=100')
    const rows: { number: number; hash: string }[] = body.items
    return Object.fromEntries(rows.map(({ number, hash }) => [number, hash]))
  } finally {
    await other.stop()
  }
}

it(
  'copies a whole state while writes go on, which a control plane starts from',
  PATIENT,
  async () => {
    const certificate = { name: 'a', source: 'internal', hosts: ['a.test'] }
    expect((await api.post('/certificates', certificate)).status).toBe(201)
    expect((await api.post('/services', { name: 'a', ...service(1) })).status).toBe(201)
    let isWriting = true
    const writing = (async () => {
      for (let port = 2; isWriting; port += 1) await api.put('/services/a', service(port))
    })()
    const made = await backup('b.age', ...withPassphrase(), '--with-secrets')
    isWriting = false
    await writing
    expect(made).toMatchObject({ code: 0, stderr: '' })
    const number = Number(/version (\d+) of/.exec(made.stdout)?.[1])
    expect(number).toBeGreaterThan(1)

    const restored = await run('restore', at('b.age'), '--data-dir', at('r'), ...withPassphrase())
    expect(restored).toMatchObject({ code: 0, stderr: '' })
    const { body } = await api.get(`/versions/${number}`)
    const versions = await versionsIn(at('r'))
    expect([Math.max(...Object.keys(versions).map(Number)), versions[number]]).toEqual([
      number,
      body.hash,
    ])
    const token = (directory: string) => readFile(join(directory, 'admin-token'), 'utf8')
    expect(await token(at('r'))).toBe(await token(api.dataDir))
    expect((await stat(at('r'))).mode & 0o777).toBe(0o700)
  },
)

it('keeps secrets out unless asked, and then only under a passphrase', PATIENT, async () => {
  const plain = await backup('plain.tar')
  expect(plain.stdout).toContain('The master key is not in it')
  const content = await readFile(at('plain.tar'), 'latin1')
  const token = (await readFile(join(api.dataDir, 'admin-token'), 'utf8')).trim()
  const key = (await readFile(join(api.dataDir, 'master-key'), 'utf8')).trim()
  expect([content.includes(token), content.includes(key)]).toEqual([false, false])
  const refused = await backup('open.tar', '--with-secrets')
  expect([refused.code, refused.stderr]).toEqual([
    1,
    'sluice-control-plane: --with-secrets needs --passphrase-file: the file would open all that is sealed\n',
  ])
  expect(await readdir(folder)).toEqual(['passphrase', 'plain.tar'])
})

it('says what is wrong with a backup, and restores nothing of it', PATIENT, async () => {
  await backup('whole.tar')
  await backup('sealed.age', ...withPassphrase())
  await damage('whole.tar', 'differs.tar', -8_000)
  await damage('sealed.age', 'differs.age', -8_000)
  const whole = await readFile(at('whole.tar'))
  await writeFile(at('cut.tar'), whole.subarray(0, 20_000))
  await writeFile(at('other.tar'), 'nothing of the kind')
  const wrongs: [string, string | undefined, string][] = [
    ['differs.tar', undefined, 'differs from its SHA-256'],
    ['cut.tar', undefined, 'is not a whole backup'],
    ['other.tar', undefined, 'is not a whole backup'],
    ['none.tar', undefined, 'there is no such file'],
    ['differs.age', PASSPHRASE, 'is not a whole backup'],
    ['sealed.age', undefined, 'is encrypted: give its passphrase'],
    ['sealed.age', 'another', 'the passphrase is another one'],
  ]
  for (const [file, passphrase, words] of wrongs) {
    await expect(verify(at(file), passphrase)).rejects.toThrow(words)
    await expect(restore(at(file), at('r'), passphrase)).rejects.toThrow(StartError)
  }
  const { code, stderr } = await run('verify', at('differs.tar'))
  expect([code, stderr]).toEqual([1, expect.stringMatching(/^sluice-control-plane: [^\n]*\n$/)])
  expect((await readdir(folder)).filter((name) => name.startsWith('r'))).toEqual([])
  expect(await run('verify', at('whole.tar'))).toMatchObject({ code: 0, stderr: '' })
})

it(
  'neither overwrites a file nor restores into a directory that holds something',
  PATIENT,
  async () => {
    await backup('a.tar')
    expect((await backup('a.tar')).stderr).toContain('a.tar exists already')
    const { code, stderr } = await run('restore', at('a.tar'), '--data-dir', api.dataDir)
    expect([code, stderr]).toEqual([1, expect.stringContaining('is not empty')])
  },
)

it.each([
  ['sluice.db', 'restore a backup into a new directory'],
  ['telemetry.db', 'to start without past counters and logs'],
])('notices a damaged %s at the start, and says what to do', PATIENT, async (name, advice) => {
  for (let port = 1; port < 20; port += 1) {
    await api.post('/services', { name: `s${port}`, ...service(port) })
  }
  await api.stop()
  const file = join(api.dataDir, name)
  const handle = await open(file, 'r+')
  const { size } = await handle.stat()
  // All pages but the first, so that the header is right and what it leads to is not.
  await handle.write(Buffer.alloc(size - 4_096, 0x5a), 0, size - 4_096, 4_096)
  await handle.close()
  const flags = ['--data-dir', api.dataDir, '--admin', '127.0.0.1:0', '--fleet', '127.0.0.1:0']
  const { code, stderr } = await run(...flags)
  expect([code, stderr]).toEqual([1, expect.stringContaining(`${file} is damaged`)])
  expect(stderr).toContain(advice)
  expect(stderr.trim().split('\n')).toHaveLength(1)
})

async function damage(from: string, to: string, position: number): Promise<void> {
  await copyFile(at(from), at(to))
  const handle = await open(at(to), 'r+')
  const { size } = await handle.stat()
  const byte = Buffer.alloc(1)
  await handle.read(byte, 0, 1, size + position)
  await handle.write(Buffer.of((byte[0] ?? 0) ^ 1), 0, 1, size + position)
  await handle.close()
}

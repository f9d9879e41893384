import { once } from 'node:events'
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { ControlPlane } from './control-plane.ts'
import { StartError } from './errors.ts'
import { readSettings, type Settings } from './settings.ts'

let directory: string
let running: ControlPlane[]

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'sluice-control-plane-'))
  running = []
})

afterEach(async () => {
  for (const controlPlane of running) await controlPlane.stop()
  await rm(directory, { recursive: true })
})

async function start(more: Partial<Settings> = {}): Promise<ControlPlane> {
  const flags = ['--data-dir', directory, '--admin', '127.0.0.1:0', '--fleet', '127.0.0.1:0']
  const controlPlane = await ControlPlane.start({
    settings: { ...readSettings(flags, {}, '0'), ...more },
    softwareVersion: '0',
    log: pino({ enabled: false }),
    now: Date.now,
  })
  running.push(controlPlane)
  return controlPlane
}

/** What an operator reads when it does not start. */
async function refusal(more: Partial<Settings> = {}): Promise<string> {
  const error: unknown = await start(more).then(
    () => undefined,
    (reason: unknown) => reason,
  )
  if (!(error instanceof StartError))
    throw new Error('it did not refuse to start', { cause: error })
  expect(error.message).not.toContain('\n')
  return error.message
}

const key = (byte: number) => Buffer.alloc(32, byte).toString('base64')

it.each(['admin', 'fleet'] as const)(
  'says that the %s port is taken, and lets go of all else',
  async (name) => {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const message = await refusal({ [name]: { host: '127.0.0.1', port } })
    expect(message).toContain(`127.0.0.1:${port}`)
    expect(message).toContain('the port is taken by another program')
    server.close()
    await once(server, 'close')
    await start()
  },
)

it('says that the data directory is a file', async () => {
  const file = join(directory, 'file')
  await writeFile(file, '')
  expect(await refusal({ dataDir: file })).toBe(
    `the data directory ${file} cannot be used: there is something else of that name`,
  )
})

it('says that the data directory cannot be made', async () => {
  expect(await refusal({ dataDir: '/proc/sluice/data' })).toBe(
    'the data directory /proc/sluice/data cannot be used: there is no such file or directory',
  )
})

it('says that a database is damaged', async () => {
  const file = join(directory, 'sluice.db')
  await writeFile(file, 'not a database but long enough to be one '.repeat(50))
  expect(await refusal()).toContain(
    `the database ${file} is damaged (file is not a database): restore a backup`,
  )
})

it('says that the master key is another one than the data was sealed with', async () => {
  await (await start()).stop()
  expect(await refusal({ masterKey: key(1) })).toContain('the master key does not fit the data')
})

it.each(['c2hvcnQ=', 'not base64!', ''])('takes no master key like "%s"', async (masterKey) => {
  expect(await refusal({ masterKey })).toBe(
    'SLUICE_MASTER_KEY does not hold a master key (base64 of 32 bytes)',
  )
})

it('says that the master key file is missing', async () => {
  const masterKeyFile = join(directory, 'none')
  expect(await refusal({ masterKeyFile })).toBe(
    `${masterKeyFile} cannot be read: there is no such file or directory`,
  )
})

it('says that the admin token was emptied', async () => {
  const file = join(directory, 'admin-token')
  await writeFile(file, '\n')
  expect(await refusal()).toBe(`${file} does not hold a token of at least 16 characters`)
})

it('takes the master key from a file, and makes none then', async () => {
  const dataDir = join(directory, 'data')
  const masterKeyFile = join(directory, 'key')
  await mkdir(dataDir)
  await writeFile(masterKeyFile, `${key(2)}\n`)
  await start({ dataDir, masterKeyFile })
  await expect(stat(join(dataDir, 'master-key'))).rejects.toThrow('ENOENT')
})

it('keeps token, key and CA over restarts', async () => {
  const files = ['admin-token', 'master-key', 'ca.pem']
  const read = () => Promise.all(files.map((name) => readFile(join(directory, name), 'utf8')))
  await (await start()).stop()
  const before = await read()
  await (await start()).stop()
  expect(await read()).toEqual(before)
})

it('lets one control plane at a time use a data directory', async () => {
  const first = await start()
  expect(await refusal()).toBe(`another control plane runs on the data directory ${directory}`)
  await first.stop()
  await start()
})

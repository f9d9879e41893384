/** `bench/peers/install` run as a program, without asking any registry. */
import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { REPOSITORY } from './places.ts'

const run = promisify(execFile)
const INSTALL = join(REPOSITORY, 'bench', 'peers', 'install')
const PROGRAM = join(REPOSITORY, 'bench', 'src', 'peers', 'install.ts')
const RUN_MS = 60_000
let cache = ''

beforeAll(async () => {
  cache = await mkdtemp(join(tmpdir(), 'sluice-bench-cache-'))
})

afterAll(() => rm(cache, { recursive: true, force: true }))

/** An empty cache, and no cargo on the path. */
function environment(): NodeJS.ProcessEnv {
  return { ...process.env, SLUICE_BENCH_CACHE: cache, PATH: '/no/such/folder' }
}

it(
  'says what it could not get and why, and is no failure',
  async () => {
    const { stdout } = await run(process.execPath, [PROGRAM, '--only', 'aralez,rpxy'], {
      env: environment(),
    })
    expect(stdout.trim().split('\n')).toEqual([
      'aralez: getting its crate, built, 0.95.4',
      'aralez: could not get its crate, built: cargo is not on this machine',
      'rpxy: not installed: crates.io has no package rpxy or rpxy-lib',
    ])
  },
  RUN_MS,
)

it(
  'lists without installing, as a script with a Node of its own',
  async () => {
    const env = { ...process.env, SLUICE_BENCH_CACHE: cache }
    const { stdout } = await run(INSTALL, ['--list', '--only', 'pingora'], { env })
    expect(stdout).toBe('pingora: not installed: bench/peers/install --only pingora\n')
  },
  RUN_MS,
)

it(
  'refuses a name that no peer has',
  async () => {
    const failed = run(INSTALL, ['--only', 'apache'], { env: process.env })
    await expect(failed).rejects.toMatchObject({
      code: 2,
      stderr: expect.stringContaining('no proxy is called apache; there are self, self-fleet'),
    })
  },
  RUN_MS,
)

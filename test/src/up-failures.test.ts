/** `npm run up` when it cannot go on: it says why, and leaves nothing behind. */
import { execFile } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { expect } from 'vitest'
import { claims } from './harness/claims.ts'
import { eventually } from './harness/eventually.ts'
import { ROOT } from './harness/programs.ts'
import type { Scope } from './harness/scope.ts'
import type { SystemProcess } from './harness/system-process.ts'

const { it } = claims()
const run = promisify(execFile)

const START_MS = 45_000
const STOP_MS = 5_000
/** Moves 7400 to 9090 into the range in which tests look for free ports. */
const OFFSETS = [15_000, 22_000] as const

interface Place {
  readonly dataDir: string
  readonly offset: number
}

async function somewhere(scope: Scope): Promise<Place> {
  return { dataDir: `${await scope.temporaryDirectory()}/data`, offset: randomInt(...OFFSETS) }
}

function up(scope: Scope, { dataDir, offset }: Place, ...options: string[]): SystemProcess {
  const words = ['--data-dir', dataDir, '--port-offset', String(offset), ...options]
  return scope.start({
    name: 'npm run up',
    command: 'npm',
    arguments: ['run', 'up', '--', ...words],
    directory: ROOT,
  })
}

/** Every part is started with its data folder, or its address, among its arguments. */
async function processesOf({ dataDir, offset }: Place): Promise<string[]> {
  const { stdout } = await run('ps', ['-axo', 'args'])
  const origin = `echo-origin.mjs 127.0.0.1 ${9090 + offset}`
  return stdout.split('\n').filter((line) => line.includes(dataDir) || line.includes(origin))
}

async function supervisorOf({ offset }: Place): Promise<number> {
  const status = await fetch(`http://127.0.0.1:${7410 + offset}/status`)
  const { workers } = (await status.json()) as { workers: { pid: number }[] }
  const { stdout } = await run('ps', ['-o', 'ppid=', '-p', String(workers[0]?.pid)])
  return Number(stdout)
}

it('when a node dies, the rest is stopped with code 1, and its end and log are there to read', async (scope) => {
  const place = await somewhere(scope)
  const started = up(scope, place)
  await started.waitForOutput(/Ctrl-C stops everything/, START_MS)
  expect(await processesOf(place)).not.toEqual([])
  process.kill(await supervisorOf(place), 'SIGKILL')
  expect(await started.waitForExit(STOP_MS)).toEqual({ code: 1, signal: null })
  expect(await started.wholeOutput()).toContain('node-1 ended by itself (SIGKILL)')
  const isGone = async () => (await processesOf(place)).length === 0
  await eventually(isGone, { withinMs: STOP_MS, that: 'the end of every part' })
  expect(await readFile(`${place.dataDir}/logs/node-1.log`, 'utf8')).toContain('"msg":"ready"')
})

it('SIGTERM while it starts ends it with code 0 and leaves no process', async (scope) => {
  const place = await somewhere(scope)
  const started = up(scope, place, '--nodes', '2')
  await started.waitForOutput(/published/, START_MS)
  started.signal('SIGTERM')
  expect(await started.waitForExit(STOP_MS)).toEqual({ code: 0, signal: null })
  expect(await processesOf(place)).toEqual([])
})

it('an option that is wrong gives one line, and nothing is started', async (scope) => {
  const place = await somewhere(scope)
  const started = up(scope, place, '--nodes', 'many')
  expect(await started.waitForExit(START_MS)).toEqual({ code: 1, signal: null })
  const said = await started.wholeOutput()
  expect(said).toContain('--nodes: "many" is not a whole number from 1 to 20')
  expect(said).not.toMatch(/\n\s+at /)
  expect(await processesOf(place)).toEqual([])
})

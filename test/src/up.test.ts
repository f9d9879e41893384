/** `npm run up` as a newcomer runs it, on ports of its own. */
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { readdir, readFile, stat } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'vitest'
import { claims } from './harness/claims.ts'
import { eventually } from './harness/eventually.ts'
import { ROOT } from './harness/programs.ts'
import type { Scope } from './harness/scope.ts'
import type { SystemProcess } from './harness/system-process.ts'

const run = promisify(execFile)
// Runs beside each other on one machine must not meet.
const OFFSET = 12_000 + (process.pid % 100) * 20
const START_MS = 120_000
const STOP_MS = 5_000
const CALL_MS = 10_000

const { it } = claims()

it(
  'npm run up starts everything, its printed commands work, Ctrl-C ends it all, and the next start goes on with the data',
  async (scope) => {
    const dataDirectory = join(await scope.temporaryDirectory(), 'up')
    const first = await up(scope, dataDirectory)
    const token = join(dataDirectory, 'admin-token')
    expect((await stat(token)).mode & 0o777).toBe(0o600)
    const commands = commandsIn(first.output)
    expect(commands.length).toBeGreaterThanOrEqual(4)
    for (const command of commands) {
      await eventually(() => pasted(command), { withinMs: CALL_MS, that: command })
    }
    await interrupt(first)

    const second = await up(scope, dataDirectory)
    const [demo = '', , , hello = ''] = commands
    // The router that the third command added is still there.
    expect(hello).toContain('hello.localhost')
    for (const command of [demo, hello]) {
      await eventually(() => pasted(command), { withinMs: CALL_MS, that: command })
    }
    await interrupt(second)
  },
  { withinMs: 2 * START_MS + 60_000 },
)

it(
  'npm run up -- --nodes 3 starts three nodes on ports counted up',
  async (scope) => {
    const dataDirectory = join(await scope.temporaryDirectory(), 'up')
    const started = await up(scope, dataDirectory, '--nodes', '3')
    for (const index of [0, 1, 2]) {
      const url = `http://127.0.0.1:${8080 + OFFSET + index}/`
      const command = `curl -H 'Host: demo.localhost' ${url}`
      await eventually(() => pasted(command), { withinMs: CALL_MS, that: command })
    }
    await interrupt(started)
  },
  { withinMs: START_MS + 60_000 },
)

it('a taken port gives one clear line and a code other than 0', async (scope) => {
  const squatter = createServer().listen(7400 + OFFSET, '127.0.0.1')
  scope.defer(() => squatter.close())
  await once(squatter, 'listening')
  const started = scope.start({
    name: 'up',
    command: process.execPath,
    arguments: [`${ROOT}deploy/local/up.mjs`, '--port-offset', String(OFFSET)],
    directory: ROOT,
  })
  const { code } = await started.waitForExit(CALL_MS)
  expect(code).toBeGreaterThan(0)
  const lines = (await started.wholeOutput()).trim().split('\n')
  expect(lines).toEqual([expect.stringContaining(String(7400 + OFFSET))])
})

async function up(scope: Scope, dataDirectory: string, ...more: string[]): Promise<SystemProcess> {
  const options = ['--port-offset', String(OFFSET), '--data-dir', dataDirectory]
  const started = scope.start({
    name: 'npm run up',
    command: 'npm',
    arguments: ['run', 'up', '--', ...options, ...more],
    directory: ROOT,
  })
  await started.waitForOutput(/Ctrl-C stops everything/, START_MS)
  return started
}

/** The curl commands that were printed, each on one line. */
function commandsIn(output: string): string[] {
  const joined = output.replaceAll(/\\\n\s*/g, '')
  return [...joined.matchAll(/^ {2}(curl .+)$/gm)].map(([, command = '']) => command)
}

/** Runs a command in a shell, as when it is pasted; an HTTP error counts as a failure. */
async function pasted(command: string): Promise<boolean> {
  const failing = command.replace(/^curl/, 'curl -sS --fail --max-time 5')
  await run('sh', ['-c', failing], { cwd: ROOT })
  return true
}

/** What a terminal does on Ctrl-C: SIGINT to every process in the foreground. */
async function interrupt(started: SystemProcess): Promise<void> {
  const pids = await descendantsOf(started.pid)
  expect(pids.length).toBeGreaterThan(3)
  process.kill(-started.pid, 'SIGINT')
  const { code } = await started.waitForExit(STOP_MS)
  expect(code).toBe(0)
  const left = await descendantsAlive(pids)
  expect(left).toEqual([])
}

async function descendantsOf(root: number): Promise<number[]> {
  const parents = new Map<number, number>()
  for (const name of await readdir('/proc')) {
    const parent = /^\d+$/.test(name) ? await parentOf(Number(name)) : undefined
    if (parent !== undefined) parents.set(Number(name), parent)
  }
  const found = [root]
  // Grows while it is walked, so children of children are met too.
  for (const pid of found) {
    for (const [child, parent] of parents) if (parent === pid) found.push(child)
  }
  return found
}

async function parentOf(pid: number): Promise<number | undefined> {
  try {
    const text = await readFile(`/proc/${pid}/stat`, 'utf8')
    const [state, parent] = text.slice(text.lastIndexOf(')') + 2).split(' ')
    return state === 'Z' ? undefined : Number(parent)
  } catch {
    // It has ended since the directory was read.
    return undefined
  }
}

async function descendantsAlive(pids: readonly number[]): Promise<number[]> {
  const parents = await Promise.all(pids.map((pid) => parentOf(pid)))
  return pids.filter((_, index) => parents[index] !== undefined)
}

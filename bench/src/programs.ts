/** Starts, awaits and ends the programs of a benchmark. Whatever was started ends with `endAll`. */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'

const run = promisify(execFile)
const START_MS = 30_000
const END_MS = 5_000

export interface Program {
  readonly name: string
  readonly pid: number
  output(): string
}

export class Programs {
  readonly #children: ChildProcess[] = []

  /** Pinned to the given CPUs. */
  start(name: string, cpus: string, command: string, args: readonly string[]): Program {
    const child = spawn('taskset', ['-c', cpus, command, ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.#children.push(child)
    let output = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text
      })
    }
    child.on('error', (error) => {
      output += String(error)
    })
    // taskset replaces itself by the program, so its pid is the program's.
    return { name, pid: child.pid ?? 0, output: () => output }
  }

  async endAll(): Promise<void> {
    await Promise.all(this.#children.map((child) => end(child)))
  }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  const abort = new AbortController()
  const late = delay(END_MS, 'late', { signal: abort.signal }).catch(() => 'ended')
  if ((await Promise.race([ended, late])) === 'late') child.kill('SIGKILL')
  abort.abort()
  await ended
}

/** The output of a short command, both streams, or undefined when there is no such program. */
export async function outputOf(
  command: string,
  args: readonly string[],
): Promise<string | undefined> {
  try {
    const { stdout, stderr } = await run(command, args)
    return `${stdout}${stderr}`
  } catch (error) {
    const { code, stdout, stderr } = error as { code?: unknown; stdout?: string; stderr?: string }
    // A text is why it could not start; a number is its exit code, and that of `wrk -v` is 1.
    return typeof code === 'string' ? undefined : `${stdout ?? ''}${stderr ?? ''}`
  }
}

/** Waits until `look` gives something other than undefined or false. A failure names the program and what it said. */
export async function until<T>(
  program: Program,
  look: () => Promise<T | false | undefined>,
): Promise<T> {
  const deadline = performance.now() + START_MS
  let last: unknown
  while (performance.now() < deadline) {
    try {
      const value = await look()
      if (value !== undefined && value !== false) return value
    } catch (error) {
      last = error
    }
    await delay(50)
  }
  throw new Error(`${program.name} is not ready: ${program.output()}`, { cause: last })
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

/**
 * A program as the leader of a process group of its own, pinned before it begins, so that all it starts is pinned
 * too. Ends by pid: SIGTERM, a bounded wait, SIGKILL for whatever of the group is left.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { isAlive, processesOfGroup } from '../machine/process-tree.ts'

const START_MS = 60_000
const END_MS = 8_000
/** For the kernel to end what was killed. */
const KILL_MS = 5_000
const LOOK_MS = 25
/** What the harness may have for itself would change how a proxy runs. */
const UNSET = {
  NODE_OPTIONS: undefined,
  NODE_ENV: undefined,
  GOMAXPROCS: undefined,
  GOGC: undefined,
  GODEBUG: undefined,
} as const
/** Of what it printed; enough for the reason of a failed start. */
const OUTPUT_CHARACTERS_MAX = 64_000

export interface Launch {
  readonly name: string
  readonly command: string
  readonly args: readonly string[]
  /** Added to the environment of this process. */
  readonly environment?: Readonly<Record<string, string>>
  readonly folder: string
  /** As taskset takes them; absent: those of this process. */
  readonly processors?: string
  /** Of a file that takes its standard output. */
  readonly outputDescriptor?: number
}

export class PinnedProcess {
  readonly name: string
  readonly command: string
  readonly #child: ChildProcess
  readonly #killAtExit = () => this.#killAll()
  #output = ''

  constructor(launch: Launch) {
    const { name, command, args, environment, folder, processors } = launch
    this.name = name
    this.command = command
    const [program = command, ...rest] =
      processors === undefined
        ? [command, ...args]
        : ['taskset', '-c', processors, command, ...args]
    this.#child = spawn(program, rest, {
      cwd: folder,
      // Leader of its own group: a Ctrl-C in the terminal reaches the harness alone, which ends what it started.
      detached: true,
      env: { ...process.env, ...UNSET, ...environment },
      stdio: ['ignore', launch.outputDescriptor ?? 'pipe', 'pipe'],
    })
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => this.#keep(text))
    }
    this.#child.on('error', (error) => this.#keep(`${error.message}\n`))
    // What is in a group of its own outlives this process unless it is ended here.
    // One for each program: more than ten are no leak.
    process.setMaxListeners(process.getMaxListeners() + 1)
    process.on('exit', this.#killAtExit)
  }

  get output(): string {
    return this.#output
  }

  /** taskset replaces itself by the program, so its pid is the program's. */
  get pid(): number {
    return this.#child.pid ?? 0
  }

  processes(): number[] {
    return this.pid === 0 ? [] : processesOfGroup(this.pid)
  }

  /** Waits until `look` gives something other than undefined or false; fails as soon as the program has ended. */
  async until<T>(what: string, look: () => Promise<T | false | undefined>): Promise<T> {
    const deadline = performance.now() + START_MS
    let cause: unknown
    while (performance.now() < deadline) {
      if (this.#hasEnded()) throw new Error(`${this.name} ended at its start: ${this.#lastWords()}`)
      try {
        const value = await look()
        if (value !== undefined && value !== false) return value
      } catch (error) {
        cause = error
      }
      await delay(LOOK_MS)
    }
    throw new Error(`${this.name} is not ready, ${what}: ${this.#lastWords()}`, { cause })
  }

  async stop(): Promise<void> {
    if (this.pid === 0) return
    if (!this.#hasEnded()) this.#child.kill('SIGTERM')
    await this.#gone(END_MS)
    this.#killAll()
    await this.#gone(KILL_MS)
    if (!this.#hasEnded()) await once(this.#child, 'exit')
    if (!process.listeners('exit').includes(this.#killAtExit)) return
    process.off('exit', this.#killAtExit)
    process.setMaxListeners(process.getMaxListeners() - 1)
  }

  /** Waits until nothing of the group is left, or for so long. */
  async #gone(milliseconds: number): Promise<void> {
    const deadline = performance.now() + milliseconds
    while (this.processes().length > 0 && performance.now() < deadline) await delay(LOOK_MS)
  }

  #killAll(): void {
    for (const pid of this.processes()) {
      if (isAlive(pid)) kill(pid)
    }
  }

  #hasEnded(): boolean {
    return this.pid === 0 || this.#child.exitCode !== null || this.#child.signalCode !== null
  }

  #keep(text: string): void {
    this.#output = (this.#output + text).slice(-OUTPUT_CHARACTERS_MAX)
  }

  #lastWords(): string {
    return this.#output.trim().split('\n').slice(-8).join(' | ') || 'it printed nothing'
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

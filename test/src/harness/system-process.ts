/**
 * One process of the system under test: its output kept and awaited by line. It leads a process group of
 * its own, so that ending it also ends what it left behind.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { bounded } from './eventually.ts'
import { Watch } from './watch.ts'

const OUTPUT_CHARACTERS_MAX = 4_000_000
const END_MS = 8_000

export interface SystemProcessOptions {
  /** As it appears in failure messages. */
  readonly name: string
  readonly command: string
  readonly arguments: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  readonly directory?: string
}

export interface Exit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

/** A line of a pino log. */
export type LogRecord = Readonly<Record<string, unknown>> & { readonly msg?: string }

export class SystemProcess {
  readonly name: string
  readonly #child: ChildProcess
  readonly #closed: Promise<unknown>
  readonly #watch = new Watch()
  #output = ''
  #exit: Exit | undefined

  static start(options: SystemProcessOptions): SystemProcess {
    const { command, environment, directory } = options
    const child = spawn(command, options.arguments, {
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
      env: { ...process.env, ...environment },
      ...(directory === undefined ? {} : { cwd: directory }),
    })
    return new SystemProcess(options.name, child)
  }

  private constructor(name: string, child: ChildProcess) {
    this.name = name
    this.#child = child
    this.#closed = new Promise((resolve) => child.once('close', resolve))
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => this.#append(text))
    }
    child.on('error', (error) => this.#append(`${error}\n`))
    child.on('exit', (code, signal) => {
      this.#exit = { code, signal }
      this.#watch.changed()
    })
    const killAtExit = () => this.#killGroup()
    process.once('exit', killAtExit)
    child.once('close', () => process.off('exit', killAtExit))
  }

  get pid(): number {
    return this.#child.pid ?? 0
  }

  get output(): string {
    return this.#output
  }

  get exit(): Exit | undefined {
    return this.#exit
  }

  get state(): string {
    return this.#exit === undefined ? 'running' : `exit ${this.#exit.code ?? this.#exit.signal}`
  }

  get records(): readonly LogRecord[] {
    return this.#output.split('\n').flatMap((line) => recordOf(line))
  }

  /** The first log line for which `matches` holds; fails at once when the process ends before it. */
  waitForRecord(matches: (record: LogRecord) => boolean, withinMs: number): Promise<LogRecord> {
    const that = `the awaited log line of ${this.name}`
    return this.#waitFor(() => this.records.find(matches), withinMs, that)
  }

  waitForReady(withinMs = 15_000): Promise<LogRecord> {
    return this.waitForRecord((record) => record.msg === 'ready', withinMs)
  }

  waitForOutput(pattern: RegExp, withinMs: number): Promise<RegExpExecArray> {
    const that = `output ${pattern} of ${this.name}`
    return this.#waitFor(() => pattern.exec(this.#output) ?? undefined, withinMs, that)
  }

  waitForExit(withinMs = END_MS): Promise<Exit> {
    const that = `the end of ${this.name}`
    return this.#waitFor(() => this.#exit, withinMs, that)
  }

  /** Everything that was written, once the process has ended and its pipes are drained. */
  async wholeOutput(withinMs = END_MS): Promise<string> {
    await bounded(this.#closed, withinMs, `the last output of ${this.name}`)
    return this.#output
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name)
  }

  /** SIGTERM, and when that is not enough SIGKILL; either way nothing of the group is left. */
  async end(): Promise<void> {
    this.#child.kill('SIGTERM')
    try {
      await this.waitForExit()
    } finally {
      this.#killGroup()
    }
  }

  #waitFor<T>(look: () => T | undefined, withinMs: number, that: string): Promise<T> {
    const lookOnce = () => {
      const value = look()
      if (value === undefined && this.#exit !== undefined) {
        throw new Error(`${that}: the process ended before (${this.state})`)
      }
      return value
    }
    return this.#watch.until(lookOnce, withinMs, () => that)
  }

  #append(text: string): void {
    this.#output = (this.#output + text).slice(-OUTPUT_CHARACTERS_MAX)
    this.#watch.changed()
  }

  #killGroup(): void {
    try {
      process.kill(-this.pid, 'SIGKILL')
    } catch (error) {
      // ESRCH: nothing of the group lives, which is what was wanted.
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
    }
  }
}

function recordOf(line: string): LogRecord[] {
  if (!line.startsWith('{')) return []
  try {
    return [JSON.parse(line) as LogRecord]
  } catch {
    // The last line may still be incomplete.
    return []
  }
}

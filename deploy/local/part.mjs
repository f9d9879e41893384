/**
 * One process of the running whole: started, watched, stopped. Its log goes to a file whole, and to the
 * terminal as far as a person wants to see it.
 */
import { spawn } from 'node:child_process'
import { createWriteStream, renameSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { isForPeople, levels, prettyLine } from './log-lines.mjs'
import { signalGroup } from './steps.mjs'

const lastLinesKept = 10

export class Part {
  /** What it said last, for the case that it dies. */
  lastLines = []
  #child
  #becomeReady
  #isStopping = false
  #hasEnded = false
  #isVerbose

  /**
   * @param {{ name: string, command: string[], env?: NodeJS.ProcessEnv, logsDir: string,
   *   isVerbose: boolean }} options
   */
  constructor({ name, command: [program, ...args], env = {}, logsDir, isVerbose }) {
    this.name = name
    this.#isVerbose = isVerbose
    /** Resolves when it says so itself. */
    this.ready = new Promise((resolve) => {
      this.#becomeReady = resolve
    })
    const log = openLog(join(logsDir, `${name}.log`))
    // A session of its own: Ctrl-C on the terminal reaches up.mjs alone, which stops the parts in order.
    this.#child = spawn(program, args, {
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...env },
    })
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      createInterface({ input: stream }).on('line', (line) => this.#take(line, log))
    }
    /** Resolves with how it ended: an exit code, a signal or what kept it from starting. */
    this.ended = new Promise((resolve) => {
      this.#child.once('error', (error) => resolve(error.message))
      this.#child.once('close', (code, signal) => resolve(signal ?? `exit code ${code}`))
    }).finally(() => {
      this.#hasEnded = true
      log.end()
    })
    // Workers of a node that was killed may be left in its group, and would keep its pipes open.
    this.#child.once('exit', () => signalGroup(this.#child.pid, 'SIGKILL'))
  }

  get isStopping() {
    return this.#isStopping
  }

  /** Asks it to end, and ends it and its group when the time is up. */
  async stop(withinMs) {
    this.#isStopping = true
    this.#child.kill('SIGTERM')
    const timer = setTimeout(() => this.kill(), withinMs)
    await this.ended
    clearTimeout(timer)
  }

  kill() {
    this.#isStopping = true
    // By then the number may be another process's.
    if (!this.#hasEnded) signalGroup(this.#child.pid, 'SIGKILL')
  }

  #take(line, log) {
    log.write(`${line}\n`)
    const entry = parseEntry(line)
    this.lastLines.push(entry === undefined ? line : prettyLine(entry))
    this.lastLines.splice(0, this.lastLines.length - lastLinesKept)
    if (entry === undefined) {
      process.stderr.write(`${this.name}  ${line}\n`)
      return
    }
    if (entry.msg === 'ready') this.#becomeReady()
    if (this.#isVerbose || isForPeople(entry)) {
      process.stdout.write(`${this.name}  ${prettyLine(entry)}\n`)
    }
  }
}

/** The log of the run before is kept beside it. */
function openLog(path) {
  try {
    renameSync(path, `${path}.before`)
  } catch (error) {
    if (error.code !== 'ENOENT') throw error
  }
  const log = createWriteStream(path, { mode: 0o600 })
  log.once('error', (error) => process.stderr.write(`${path}: ${error.message}\n`))
  return log
}

function parseEntry(line) {
  if (!line.startsWith('{')) return undefined
  try {
    const entry = JSON.parse(line)
    return { ...entry, level: levelName(entry.level) }
  } catch {
    // Not JSON after all: shown as it is.
    return undefined
  }
}

/** pino writes levels as numbers unless it is told otherwise. */
function levelName(level) {
  return typeof level === 'number' ? (levels[Math.floor(level / 10) - 1] ?? 'fatal') : level
}

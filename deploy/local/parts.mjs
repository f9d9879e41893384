/** All running parts together: a wait ends when what it waits for comes, a part dies or the user stops. */
import { mkdirSync } from 'node:fs'
import { UpFailure } from './options.mjs'
import { Part } from './part.mjs'
import { Interrupted } from './steps.mjs'

/** All within the 5 s in which Ctrl-C must have stopped everything: nodes first, then what they talk to. */
const nodesStopMs = 2_200
const othersStopMs = 2_400

export class Parts {
  #parts = []
  #logsDir
  #isVerbose
  #isStopped = false
  /** Rejects when a part ends by itself or the user stops; never resolves. */
  #broken
  #break

  constructor({ logsDir, isVerbose, signal }) {
    mkdirSync(logsDir, { recursive: true })
    this.#logsDir = logsDir
    this.#isVerbose = isVerbose
    this.#broken = new Promise((_, reject) => {
      this.#break = reject
    })
    // Awaited by whoever waits at that moment; until then a rejection is no accident.
    this.#broken.catch(() => {})
    this.signal = signal
    signal.addEventListener('abort', () => this.#break(new Interrupted()))
    if (signal.aborted) this.#break(new Interrupted())
  }

  /** @param {{ name: string, role: 'node' | 'other', command: string[], env?: NodeJS.ProcessEnv }} start */
  start({ name, role, command, env }) {
    if (this.#isStopped) throw new Interrupted()
    const part = new Part({
      name,
      command,
      env,
      logsDir: this.#logsDir,
      isVerbose: this.#isVerbose,
    })
    this.#parts.push({ role, part })
    part.ended.then((how) => {
      if (!part.isStopping) this.#break(new UpFailure(endingText(part, how)))
    })
    return part
  }

  /** Waits for the promise, at most so long. */
  async during(promise, withinMs, failure) {
    let timer
    const late = new Promise((_, reject) => {
      timer = setTimeout(() => reject(new UpFailure(failure())), withinMs)
    })
    try {
      return await Promise.race([promise, this.#broken, late])
    } finally {
      clearTimeout(timer)
    }
  }

  /** Returns only by throwing. */
  async untilBroken() {
    await this.#broken
  }

  async stop() {
    this.#isStopped = true
    await this.#stopRole('node', nodesStopMs)
    await this.#stopRole('other', othersStopMs)
  }

  kill() {
    for (const { part } of this.#parts) part.kill()
  }

  async #stopRole(role, withinMs) {
    const parts = this.#parts.filter((started) => started.role === role)
    await Promise.all(parts.map(({ part }) => part.stop(withinMs)))
  }
}

function endingText(part, how) {
  const said = part.lastLines.length > 0 ? `; it said last:\n  ${part.lastLines.join('\n  ')}` : ''
  return `${part.name} ended by itself (${how}), so everything stops${said}`
}

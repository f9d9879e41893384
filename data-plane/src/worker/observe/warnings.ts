/** What the operator should know of, said once in a while however often it holds: a flood must not fill the log. */
import { limits } from '../../limits.ts'
import type { WorkerMessage } from '../../worker-protocol.ts'

const TEXTS = {
  'descriptors-used-up':
    'a worker has used up its file descriptors and refuses what needs new ones: raise the limit of open files',
} as const

export type Warning = keyof typeof TEXTS

interface Said {
  at: number
  /** How often it held since it was last said. */
  times: number
}

export class Warnings {
  readonly #said = new Map<Warning, Said>()
  readonly #now: () => number
  readonly #send: (message: WorkerMessage) => void

  /** `now`: monotonic milliseconds. */
  constructor(now: () => number, send: (message: WorkerMessage) => void) {
    this.#now = now
    this.#send = send
  }

  warn(warning: Warning): void {
    const now = this.#now()
    const said = this.#said.get(warning)
    if (said !== undefined && now - said.at < limits.warningIntervalMs) {
      said.times += 1
      return
    }
    this.#said.set(warning, { at: now, times: 0 })
    const fields = { times: (said?.times ?? 0) + 1 }
    this.#send({ kind: 'notice', notice: { level: 'warn', text: TEXTS[warning], fields } })
  }
}

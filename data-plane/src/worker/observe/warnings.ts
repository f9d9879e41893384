/** What the operator should know of, said once in a while however often it holds: a flood must not fill the log. */
import { limits } from '../../limits.ts'
import type { WorkerMessage, WorkerWarning } from '../../worker-protocol.ts'

interface Said {
  at: number
  /** How often it held since it was last said. */
  times: number
}

export class Warnings {
  readonly #said = new Map<WorkerWarning, Said>()
  readonly #now: () => number
  readonly #send: (message: WorkerMessage) => void

  /** `now`: monotonic milliseconds. */
  constructor(now: () => number, send: (message: WorkerMessage) => void) {
    this.#now = now
    this.#send = send
  }

  warn(warning: WorkerWarning): void {
    const now = this.#now()
    const said = this.#said.get(warning)
    if (said !== undefined && now - said.at < limits.warningIntervalMs) {
      said.times += 1
      return
    }
    this.#said.set(warning, { at: now, times: 0 })
    this.#send({ kind: 'warning', warning, times: (said?.times ?? 0) + 1 })
  }
}

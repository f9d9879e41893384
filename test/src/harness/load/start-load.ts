/** Load from a process of its own, so that neither the test nor the client is what gets slow. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { bounded, eventually } from '../eventually.ts'
import type { Scope } from '../scope.ts'
import type { LoadCommand, LoadEvent, LoadPlan, LoadResult } from './plan.ts'

const PROGRAM = fileURLToPath(new URL('./load-client.ts', import.meta.url))

export class Load {
  readonly #child: ChildProcess
  readonly #result: Promise<LoadResult>
  #sent = 0
  #failed = 0

  constructor(child: ChildProcess, plan: LoadPlan) {
    this.#child = child
    const { promise, resolve, reject } = Promise.withResolvers<LoadResult>()
    this.#result = promise
    // Looked at when the test asks for it; a test that fails before need not.
    promise.catch(() => {})
    child.on('message', (event: LoadEvent) => {
      if (event.kind === 'result') resolve(event.result)
      else {
        this.#sent = event.sent
        this.#failed = event.failed
      }
    })
    child.once('exit', (code, signal) => reject(new Error(`load client ended: ${code ?? signal}`)))
    this.#command({ kind: 'start', plan })
  }

  get sent(): number {
    return this.#sent
  }

  get failed(): number {
    return this.#failed
  }

  /** Waits until so many more requests were sent: load flows, and flowed through what came before. */
  async untilMore(requests: number, withinMs = 15_000): Promise<void> {
    const target = this.#sent + requests
    await eventually(() => this.#sent >= target, { withinMs, that: `${target} requests sent` })
  }

  /** Requests under way are finished first. */
  stop(withinMs = 60_000): Promise<LoadResult> {
    this.#command({ kind: 'stop' })
    return this.result(withinMs)
  }

  /** For a plan with `requestsMax`. */
  result(withinMs = 60_000): Promise<LoadResult> {
    return bounded(this.#result, withinMs, 'the result of the load client')
  }

  async end(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const ended = once(this.#child, 'exit')
    this.#child.kill('SIGKILL')
    await ended
  }

  #command(command: LoadCommand): void {
    this.#child.send(command)
  }
}

export function startLoad(scope: Scope, plan: LoadPlan): Load {
  const load = new Load(fork(PROGRAM, { execArgv: [] }), plan)
  scope.defer(() => load.end())
  return load
}

/**
 * Owns what a test started. Closing ends it all, newest first, whatever happened; the logs of the
 * processes are there for the failure message until then.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SystemProcess, type SystemProcessOptions } from './system-process.ts'

const LOG_CHARACTERS_MAX = 6_000

export class Scope {
  readonly #deferred: (() => unknown)[] = []
  readonly #processes: SystemProcess[] = []

  /** Runs at close; later ones first. */
  defer(release: () => unknown): void {
    this.#deferred.push(release)
  }

  start(options: SystemProcessOptions): SystemProcess {
    const started = SystemProcess.start(options)
    this.#processes.push(started)
    this.defer(() => started.end())
    return started
  }

  async temporaryDirectory(): Promise<string> {
    const path = await mkdtemp(join(tmpdir(), 'sluice-test-'))
    this.defer(() => rm(path, { recursive: true, force: true, maxRetries: 3 }))
    return path
  }

  /** The end of each process's output. */
  logs(): string {
    const pages = this.#processes.map((one) => {
      const text = one.output
      const end = text.length > LOG_CHARACTERS_MAX ? `…${text.slice(-LOG_CHARACTERS_MAX)}` : text
      return `--- ${one.name} (pid ${one.pid}, ${one.state})\n${end}`
    })
    return pages.join('\n')
  }

  async close(): Promise<void> {
    const failures: unknown[] = []
    for (let release = this.#deferred.pop(); release; release = this.#deferred.pop()) {
      try {
        await release()
      } catch (error) {
        failures.push(error)
      }
    }
    if (failures.length > 0) throw new AggregateError(failures, 'the test could not clean up')
  }
}

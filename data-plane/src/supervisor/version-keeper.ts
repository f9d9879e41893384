/**
 * Keeps the running version on the disk: one write at a time, and again at intervals while the disk does not take
 * it. A version that a newer one has replaced is not written any more.
 */
import type { Logger } from 'pino'
import { reasonOf } from './errors.ts'
import { limits } from './limits.ts'
import type { StoredVersion, VersionStore } from './version-store.ts'

export class VersionKeeper {
  readonly #store: Pick<VersionStore, 'save'>
  readonly #logger: Logger
  readonly #retryMs: number
  #wanted: StoredVersion | undefined
  #turn: Promise<void> = Promise.resolve()
  #retryTimer: NodeJS.Timeout | undefined
  #problem: string | undefined

  constructor(
    store: Pick<VersionStore, 'save'>,
    logger: Logger,
    retryMs: number = limits.storeRetryMs,
  ) {
    this.#store = store
    this.#logger = logger
    this.#retryMs = retryMs
  }

  /** Why what runs is not on the disk, for operators; undefined while it is. */
  get problem(): string | undefined {
    return this.#problem
  }

  /** Resolves when it was tried once, well or not. */
  keep(version: StoredVersion): Promise<void> {
    this.#wanted = version
    this.#turn = this.#turn.then(() => this.#write())
    return this.#turn
  }

  stop(): void {
    this.#wanted = undefined
    clearTimeout(this.#retryTimer)
  }

  async #write(): Promise<void> {
    const version = this.#wanted
    if (version === undefined) return
    clearTimeout(this.#retryTimer)
    try {
      await this.#store.save(version)
      if (this.#problem !== undefined) {
        this.#logger.info({ version: version.version }, 'the running version is stored again')
      }
      this.#problem = undefined
    } catch (error) {
      this.#tell(version, reasonOf(error))
      this.#retryTimer = setTimeout(() => {
        this.#turn = this.#turn.then(() => this.#write())
      }, this.#retryMs)
      this.#retryTimer.unref()
    }
  }

  /** Once for each version and reason, however often it is tried again. */
  #tell({ version }: StoredVersion, reason: string): void {
    const problem = `version ${version} runs and is not stored, so a restart begins with an older one: ${reason}`
    if (problem === this.#problem) return
    this.#problem = problem
    this.#logger.error({ version, reason }, 'the applied version could not be written to the disk')
  }
}

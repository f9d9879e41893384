/**
 * Notices that nodes run newer versions than were ever published here, as after the control plane was restored
 * from an older backup. From then on no node that runs anything gets an update, over restarts too, so nothing
 * is rolled back in silence, until an operator decides to go on with what is here.
 */
import type { By } from '../publishing/publication.ts'
import type { Publisher } from '../publishing/publisher.ts'
import type { Database } from '../store/database.ts'
import { clearVersionSeen, findVersionSeen, saveVersionSeen } from '../store/history.ts'
import type { FleetLog } from './fleet-log.ts'

export class HistoryGuard {
  readonly #db: Database
  readonly #log: FleetLog
  readonly #listeners = new Set<() => void>()
  #newestSeen: number | undefined

  private constructor(db: Database, log: FleetLog, newestSeen: number | undefined) {
    this.#db = db
    this.#log = log
    this.#newestSeen = newestSeen
  }

  static async open(db: Database, log: FleetLog): Promise<HistoryGuard> {
    const newestSeen = await findVersionSeen(db)
    const guard = new HistoryGuard(db, log, newestSeen)
    if (newestSeen !== undefined) guard.#warn()
    return guard
  }

  /** The newest version of a node that was never published here; undefined: there is none. */
  get newestSeen(): number | undefined {
    return this.#newestSeen
  }

  /** Calls back when updates may go out again. Returns the function that ends the subscription. */
  onSettled(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** A node runs this version; `newest` is the newest one here. */
  async look(running: number, newest: number): Promise<void> {
    if (running <= newest || running <= (this.#newestSeen ?? 0)) return
    this.#newestSeen = running
    this.#warn()
    await saveVersionSeen(this.#db, running)
  }

  /** What is here goes on under a number after all that were seen. Returns the newest version. */
  async accept(publisher: Pick<Publisher, 'publishBeyond'>, by: By): Promise<number> {
    const seen = this.#newestSeen ?? 0
    const version = await publisher.publishBeyond(seen, by)
    // Last: should we end before it, the operator is asked once more.
    await clearVersionSeen(this.#db)
    this.#newestSeen = undefined
    for (const listener of this.#listeners) listener()
    return version
  }

  #warn(): void {
    this.#log.error(
      { newestVersionSeen: this.#newestSeen },
      'nodes run versions that are newer than all that are here; was an older backup restored? no node is changed until "sluice history accept"',
    )
  }
}

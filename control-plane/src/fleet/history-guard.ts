/**
 * Notices that nodes run versions that were never published here, as after the control plane was restored from
 * an older backup: a later number, or the content of another version under the same number. From then on no node
 * that runs anything gets an update, over restarts too, so nothing is rolled back in silence, until an operator
 * decides to go on with what is here.
 */
import type { Labels } from '../model/labels.ts'
import type { By } from '../publishing/publication.ts'
import type { Publisher } from '../publishing/publisher.ts'
import type { Database } from '../store/database.ts'
import {
  acceptSeen,
  findAcceptedUntil,
  findVersionSeen,
  saveVersionSeen,
} from '../store/history.ts'
import type { FleetLog } from './fleet-log.ts'

/** What was published here. */
export interface PublishedHistory {
  hasPublished(number: number, hash: string, labels: Labels): Promise<boolean>
}

export interface HistoryGuardOptions {
  readonly db: Database
  readonly past: PublishedHistory
  readonly log: FleetLog
}

export interface RunningVersion {
  readonly version: number
  readonly hash: string
}

/** A node as it was known before it told what it runs. */
interface KnownNode {
  readonly id: string
  readonly labels: Labels
  readonly lastKnown: RunningVersion
}

export class HistoryGuard {
  readonly #options: HistoryGuardOptions
  readonly #listeners = new Set<() => void>()
  /** Ids of nodes that came with such a version since we started. */
  readonly #strangers = new Set<string>()
  #newestSeen: number | undefined
  #acceptedUntil: number

  private constructor(
    options: HistoryGuardOptions,
    newestSeen: number | undefined,
    acceptedUntil: number,
  ) {
    this.#options = options
    this.#newestSeen = newestSeen
    this.#acceptedUntil = acceptedUntil
  }

  static async open(options: HistoryGuardOptions): Promise<HistoryGuard> {
    const newestSeen = await findVersionSeen(options.db)
    const guard = new HistoryGuard(options, newestSeen, await findAcceptedUntil(options.db))
    if (newestSeen !== undefined) guard.#warn()
    return guard
  }

  /** The newest version of a node that was never published here; undefined: there is none. */
  get newestSeen(): number | undefined {
    return this.#newestSeen
  }

  /** Whether the node came with a version that was never published here. */
  isStranger(nodeId: string): boolean {
    return this.#strangers.has(nodeId)
  }

  /** Calls back when updates may go out again. Returns the function that ends the subscription. */
  onSettled(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** A node says what it runs. */
  async look(node: KnownNode, running: RunningVersion): Promise<void> {
    if (await this.#isOurs(node, running)) {
      this.#strangers.delete(node.id)
      return
    }
    this.#strangers.add(node.id)
    if (running.version <= (this.#newestSeen ?? 0)) return
    this.#newestSeen = running.version
    this.#warn()
    await saveVersionSeen(this.#options.db, running.version)
  }

  /** What is here goes on under a number after all that were seen. Returns the newest version. */
  async accept(publisher: Pick<Publisher, 'publishBeyond' | 'current'>, by: By): Promise<number> {
    const seen = this.#newestSeen ?? 0
    const acceptedUntil = Math.max(seen, Number(publisher.current()?.number ?? 0n))
    const version = await publisher.publishBeyond(seen, by)
    if (this.#newestSeen === undefined) return version
    // Last: should we end before it, the operator is asked once more.
    await acceptSeen(this.#options.db, acceptedUntil)
    this.#acceptedUntil = acceptedUntil
    this.#newestSeen = undefined
    this.#strangers.clear()
    for (const listener of this.#listeners) listener()
    return version
  }

  async #isOurs(
    { labels, lastKnown }: KnownNode,
    { version, hash }: RunningVersion,
  ): Promise<boolean> {
    if (version === 0 || version <= this.#acceptedUntil) return true
    // Labels may have changed since it got this. Once there are strangers, they are among what was known last.
    const isKnown = lastKnown.version === version && lastKnown.hash === hash
    if (isKnown && this.#newestSeen === undefined) return true
    return this.#options.past.hasPublished(version, hash, labels)
  }

  #warn(): void {
    this.#options.log.error(
      { newestVersionSeen: this.#newestSeen },
      'nodes run versions that were never published here; was an older backup restored? no node is changed until "sluice history accept"',
    )
  }
}

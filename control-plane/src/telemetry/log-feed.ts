/**
 * Log lines as they are stored. A follower reads from the database when it is ready for more, so one that is
 * slow holds nothing: it is told how many lines it was too slow for.
 */
import type { TelemetryDatabase } from '../store/database.ts'
import { findLastLogId, readNewLogs } from '../store/telemetry.ts'
import { telemetryLimits as limits } from './limits.ts'
import { filterOf, type LogChoice, type LogItem, toItem } from './logs.ts'
import type { NodeNames } from './node-names.ts'

export interface FollowedLines {
  /** Oldest first. */
  readonly items: readonly LogItem[]
  /** Stored lines, of any choice, that were left out before these. */
  readonly dropped: number
}

export class LogFeed {
  readonly #db: TelemetryDatabase
  readonly #nodes: NodeNames
  readonly #followers = new Set<LogFollower>()

  constructor(db: TelemetryDatabase, nodes: NodeNames) {
    this.#db = db
    this.#nodes = nodes
  }

  changed(): void {
    for (const follower of this.#followers) follower.wake()
  }

  /** Undefined: as many follow as may. */
  async follow(choice: LogChoice): Promise<LogFollower | undefined> {
    if (this.#followers.size >= limits.followersMax) return undefined
    const follower = new LogFollower(this.#db, this.#nodes, choice, () =>
      this.#followers.delete(follower),
    )
    this.#followers.add(follower)
    try {
      await follower.start()
    } catch (error) {
      follower.end()
      throw error
    }
    return follower
  }

  end(): void {
    for (const follower of this.#followers) follower.end()
  }
}

export class LogFollower {
  readonly #db: TelemetryDatabase
  readonly #nodes: NodeNames
  readonly #choice: LogChoice
  readonly #onEnd: () => void
  #lastId = 0
  #isEnded = false
  #hasChanged = false
  #wake: (() => void) | undefined

  constructor(db: TelemetryDatabase, nodes: NodeNames, choice: LogChoice, onEnd: () => void) {
    this.#db = db
    this.#nodes = nodes
    this.#choice = choice
    this.#onEnd = onEnd
  }

  get isEnded(): boolean {
    return this.#isEnded
  }

  async start(): Promise<void> {
    // Throws where the choice is wrong.
    filterOf(this.#choice, [])
    this.#lastId = await findLastLogId(this.#db)
  }

  wake(): void {
    this.#hasChanged = true
    this.#wake?.()
  }

  end(): void {
    this.#isEnded = true
    this.#onEnd()
    this.#wake?.()
  }

  /** What was stored since the last time; waits for the first line up to `withinMs`. */
  async next(withinMs: number): Promise<FollowedLines> {
    if (!this.#hasChanged && !this.#isEnded) await this.#changed(withinMs)
    if (!this.#hasChanged || this.#isEnded) return { items: [], dropped: 0 }
    this.#hasChanged = false
    const untilId = await findLastLogId(this.#db)
    const fromId = Math.max(this.#lastId, untilId - limits.linesPerFeedMax)
    const dropped = fromId - this.#lastId
    this.#lastId = untilId
    const names = await this.#nodes.nodeNames()
    // A node that joined since may have the name that was asked for.
    const filter = filterOf(this.#choice, names)
    const nameOf = new Map(names.map(({ id, name }) => [id, name]))
    const rows = await readNewLogs(this.#db, fromId, untilId, filter)
    return { items: rows.map((row) => toItem(row, nameOf.get(row.node) ?? row.node)), dropped }
  }

  #changed(withinMs: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, withinMs)
    this.#wake = resolve
    return promise.finally(() => clearTimeout(timer))
  }
}

/**
 * Ends the stage that is open: promotes its version after a hold in which the nodes that have it answered as
 * the others did, withdraws it when they did not, when one of them refuses it, or is lost. What they answered
 * is counted in memory, so after a restart of the control plane a hold begins anew.
 */

import { Refusal } from '../model/refusal.ts'
import { describeSelector, isInStage, type StagePlan } from '../model/stage-plan.ts'
import type { OpenStage } from '../publishing/open-stage.ts'
import { planOf } from '../publishing/open-stage.ts'
import type { By } from '../publishing/publication.ts'
import type { Publisher } from '../publishing/publisher.ts'
import type { Database } from '../store/database.ts'
import { listStages, type StageRow } from '../store/stages.ts'
import type { TrafficRecord } from '../store/telemetry.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'
import type { FleetLog } from './fleet-log.ts'
import { fleetLimits as limits } from './limits.ts'
import type { NodeRegistry } from './node-registry.ts'
import type { NodeView } from './node-view.ts'
import { Answers, judge } from './stage-comparison.ts'

export interface StageWatchOptions {
  readonly db: Database
  readonly publisher: Publisher
  readonly nodes: Pick<NodeRegistry, 'list'>
  readonly telemetry: Pick<Telemetry, 'onTraffic'>
  readonly now: () => number
  readonly log: FleetLog
}

export interface StageSide {
  readonly requests: number
  readonly share5xx: number
  readonly p99Ms: number
}

export interface StageView {
  readonly name: string
  readonly state: StageRow['state']
  readonly version: number
  readonly baseVersion: number
  readonly selector: string
  readonly holdMs: number
  readonly max5xx: number | null
  readonly maxP99: number | null
  readonly minRequests: number
  readonly author: string
  /** Why it ended; empty before. */
  readonly reason: string
  readonly startedAt: string
  readonly endedAt: string | null
  /** Of the stage that is open; null: it has ended, or its nodes do not all run it yet. */
  readonly comparison: {
    /** Since when all of its nodes run it. */
    readonly since: string
    readonly holdLeftMs: number
    readonly selected: StageSide
    readonly others: StageSide
  } | null
  /** Of the stage that is open. */
  readonly nodes: readonly Pick<NodeView, 'name' | 'state' | 'version'>[]
}

/** What was seen of one stage. */
interface Watched {
  readonly version: number
  /** By the monotonic clock, like all durations here: a clock that is set must end no hold. */
  readonly from: number
  selectedIds: ReadonlySet<string>
  /** Undefined: not all of its nodes run it. */
  since: { readonly timeMs: number; readonly monotonicMs: number } | undefined
  selected: Answers
  others: Answers
}

export class StageWatch {
  readonly #options: StageWatchOptions
  readonly #timer: NodeJS.Timeout
  readonly #unsubscribe: () => void
  #watched: Watched | undefined
  #looking: Promise<void> | undefined

  constructor(options: StageWatchOptions) {
    this.#options = options
    this.#unsubscribe = options.telemetry.onTraffic((rows) => this.#count(rows))
    this.#timer = setInterval(() => this.#lookOnce(), limits.stageLookMs)
    this.#timer.unref()
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    this.#unsubscribe()
    await this.#looking
  }

  /** Refuses a plan that selects no node that could try the version. */
  async requireNodes(plan: StagePlan): Promise<void> {
    const nodes = await this.#options.nodes.list()
    if (nodes.some((node) => node.isConnected && isInStage(plan.selector, node))) return
    const reason = `selects no node that is connected: ${describeSelector(plan.selector)}`
    throw new Refusal('malformed', [{ kind: '', name: '', field: 'stage', reason }])
  }

  /** The operator's own judgement goes before any other. */
  async promote(by: By): Promise<void> {
    await this.#options.publisher.promote(`promoted by ${by.author}`, by)
  }

  async withdraw(by: By): Promise<void> {
    await this.#options.publisher.withdraw(`withdrawn by ${by.author}`, by)
  }

  /** After a pause the hold begins anew. */
  async pause(isPaused: boolean): Promise<void> {
    await this.#options.publisher.pauseStage(isPaused)
    this.#watched = undefined
  }

  /** Newest first. */
  async list(): Promise<StageView[]> {
    const { db, publisher, nodes } = this.#options
    const rows = await listStages(db, limits.stagesShownMax)
    const open = publisher.stage
    const selected =
      open === undefined
        ? []
        : (await nodes.list()).filter((node) => isSelectedNode(open.plan, node))
    return rows.map((row) => this.#toView(row, row.ended_at_ms === null ? selected : []))
  }

  #lookOnce(): void {
    const { publisher, log } = this.#options
    if (publisher.stage === undefined) {
      this.#watched = undefined
      return
    }
    this.#looking ??= this.#look(publisher.stage)
      .catch((error: unknown) => log.error({ err: error }, 'a stage could not be looked at'))
      .finally(() => {
        this.#looking = undefined
      })
  }

  async #look(stage: OpenStage): Promise<void> {
    const { nodes, now } = this.#options
    const selected = (await nodes.list()).filter((node) => isSelectedNode(stage.plan, node))
    const watched = this.#watchedOf(stage)
    watched.selectedIds = new Set(selected.map(({ id }) => id))
    if (stage.isPaused) return
    const refused = selected.find(({ state, isConnected }) => isConnected && state === 'rejected')
    if (refused !== undefined) return this.#withdraw(stage, refusalOf(refused))
    const connected = selected.filter(({ isConnected }) => isConnected)
    const isEverywhere =
      connected.length > 0 && connected.every(({ version }) => version === stage.version)
    if (watched.since === undefined) {
      if (isEverywhere) watched.since = { timeMs: now(), monotonicMs: performance.now() }
      else if (performance.now() - watched.from > limits.stageApplyMs) {
        const late = selected.find(({ version }) => version !== stage.version)
        return this.#withdraw(stage, `node ${late?.name ?? '(none)'} did not apply it in time`)
      }
      return
    }
    const isOver = performance.now() - watched.since.monotonicMs >= stage.plan.holdMs
    const lost = selected.find(({ isConnected }) => !isConnected)
    if (isOver && lost !== undefined) return this.#withdraw(stage, `node ${lost.name} was lost`)
    await this.#judge(stage, watched, isOver)
  }

  async #judge(stage: OpenStage, watched: Watched, isOver: boolean): Promise<void> {
    const { publisher, log } = this.#options
    const judgement = judge(stage.plan, watched.selected, watched.others)
    if (judgement.kind === 'bad' || (isOver && judgement.kind === 'unsure')) {
      return this.#withdraw(stage, judgement.reason)
    }
    // Who paused or ended it meanwhile knows better.
    if (!isOver || publisher.stage !== stage) return
    await publisher.promote('its nodes answered as the others did')
    log.info({ stage: stage.plan.name, version: stage.version }, 'a stage was promoted')
  }

  async #withdraw(stage: OpenStage, reason: string): Promise<void> {
    const { publisher, log } = this.#options
    if (publisher.stage !== stage) return
    await publisher.withdraw(reason)
    log.warn({ stage: stage.plan.name, version: stage.version, reason }, 'a stage was withdrawn')
  }

  #watchedOf({ version }: OpenStage): Watched {
    if (this.#watched?.version !== version) {
      this.#watched = {
        version,
        from: performance.now(),
        selectedIds: new Set(),
        since: undefined,
        selected: new Answers(),
        others: new Answers(),
      }
    }
    return this.#watched
  }

  #count(rows: readonly TrafficRecord[]): void {
    const watched = this.#watched
    if (watched?.since === undefined) return
    for (const row of rows) {
      // What was counted in earlier minutes and only arrives now is of the version before.
      if (row.minute_ms + 60_000 <= watched.since.timeMs) continue
      const isSelected = watched.selectedIds.has(row.node)
      const answers = isSelected ? watched.selected : watched.others
      answers.add(row)
    }
  }

  #toView(row: StageRow, nodes: readonly NodeView[]): StageView {
    const { name, selector, holdMs, max5xx, maxP99, minRequests } = planOf(row)
    return {
      ...{ name, holdMs, max5xx, maxP99, minRequests },
      state: row.state,
      version: row.version,
      baseVersion: row.base_version,
      selector: describeSelector(selector),
      author: row.author,
      reason: row.reason,
      startedAt: new Date(row.started_at_ms).toISOString(),
      endedAt: row.ended_at_ms === null ? null : new Date(row.ended_at_ms).toISOString(),
      comparison: row.ended_at_ms === null ? this.#comparison(holdMs) : null,
      nodes: nodes.map(({ name: node, state, version }) => ({ name: node, state, version })),
    }
  }

  #comparison(holdMs: number): StageView['comparison'] {
    const watched = this.#watched
    if (watched?.since === undefined) return null
    const { timeMs, monotonicMs } = watched.since
    return {
      since: new Date(timeMs).toISOString(),
      holdLeftMs: Math.max(0, Math.round(monotonicMs + holdMs - performance.now())),
      selected: toSide(watched.selected),
      others: toSide(watched.others),
    }
  }
}

function isSelectedNode({ selector }: StagePlan, node: NodeView): boolean {
  return node.state !== 'revoked' && isInStage(selector, node)
}

function refusalOf({ name, rejected, missingFeatures }: NodeView): string {
  const [problem] = rejected?.problems ?? []
  const [missing] = missingFeatures
  const why =
    problem === undefined
      ? `its software lacks ${missing?.feature ?? 'a feature'}`
      : `${problem.kind} "${problem.name}": ${problem.field} ${problem.reason}`
  return `node ${name} refuses it: ${why}`
}

function toSide(answers: Answers): StageSide {
  const { requests, share5xx, p99Us } = answers
  return { requests, share5xx, p99Ms: p99Us / 1_000 }
}

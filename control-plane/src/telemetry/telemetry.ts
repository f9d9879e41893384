/** What nodes counted and sampled: stored, asked for, and removed in time. Owns telemetry.db's content. */
import type { CounterBatch, LogBatch } from '@sluice/proto'
import type { TelemetryDatabase } from '../store/database.ts'
import { makeCommitsDurable, type TrafficRecord } from '../store/telemetry.ts'
import { type AnalyticsAnswer, type AnalyticsQuery, queryAnalytics } from './analytics.ts'
import { type ColumnsAnswer, type ColumnsQuery, queryColumns } from './columns.ts'
import { type HeatmapAnswer, type HeatmapQuery, queryHeatmap } from './heatmap.ts'
import { Ingest, type StoredRows, type StoreResult } from './ingest.ts'
import { telemetryLimits as limits } from './limits.ts'
import { LogFeed, type LogFollower } from './log-feed.ts'
import { type LogAnswer, type LogChoice, type LogItem, type LogQuery, queryLogs } from './logs.ts'
import type { NodeNames } from './node-names.ts'
import { countStoredRows, Retention } from './retention.ts'
import { queryTraffic, type TrafficAnswer, type TrafficQuery } from './traffic.ts'

export interface TelemetryOptions {
  readonly db: TelemetryDatabase
  readonly nodes: NodeNames
  readonly now: () => number
  readonly log: TelemetryLog
}

export interface TelemetryLog {
  error(fields: object, message: string): void
  warn(fields: object, message: string): void
}

export class Telemetry {
  readonly #options: TelemetryOptions
  readonly #rows: StoredRows
  readonly #feed: LogFeed
  readonly #ingest: Ingest
  readonly #trafficListeners = new Set<(rows: readonly TrafficRecord[]) => void>()
  readonly #retention: Retention
  readonly #timer: NodeJS.Timeout
  #retaining: Promise<void> | undefined

  private constructor(options: TelemetryOptions, rows: StoredRows) {
    this.#options = options
    this.#rows = rows
    this.#feed = new LogFeed(options.db, options.nodes)
    this.#ingest = new Ingest(options, rows, {
      logs: () => this.#feed.changed(),
      traffic: (counted) => {
        for (const listener of this.#trafficListeners) listener(counted)
      },
    })
    this.#retention = new Retention(options.db, rows, limits)
    this.#timer = setInterval(() => this.#retain(), limits.retentionIntervalMs)
    this.#timer.unref()
  }

  static async open(options: TelemetryOptions): Promise<Telemetry> {
    await makeCommitsDurable(options.db)
    const rows = await countStoredRows(options.db, options.now(), limits.aheadMsMax)
    return new Telemetry(options, rows)
  }

  get storedRows(): Readonly<StoredRows> {
    return this.#rows
  }

  storeCounters(nodeId: string, batch: CounterBatch): Promise<StoreResult> {
    return this.#noticeLoss(nodeId, batch.bootId, this.#ingest.storeCounters(nodeId, batch))
  }

  storeLogs(nodeId: string, batch: LogBatch): Promise<StoreResult> {
    return this.#noticeLoss(nodeId, batch.bootId, this.#ingest.storeLogs(nodeId, batch))
  }

  /** Calls back with what was counted, once it is stored. Returns the function that ends the subscription. */
  onTraffic(listener: (rows: readonly TrafficRecord[]) => void): () => void {
    this.#trafficListeners.add(listener)
    return () => this.#trafficListeners.delete(listener)
  }

  queryTraffic(query: TrafficQuery): Promise<TrafficAnswer> {
    return queryTraffic(this.#options.db, this.#options.nodes, query)
  }

  queryAnalytics(query: AnalyticsQuery): Promise<AnalyticsAnswer> {
    const { db, nodes, now } = this.#options
    return queryAnalytics(db, nodes, query, now())
  }

  queryColumns(query: ColumnsQuery): Promise<ColumnsAnswer> {
    const { db, nodes, now } = this.#options
    return queryColumns(db, nodes, query, now())
  }

  queryHeatmap(query: HeatmapQuery): Promise<HeatmapAnswer> {
    const { db, nodes, now } = this.#options
    return queryHeatmap(db, nodes, query, now())
  }

  queryLogs(query: LogQuery): Promise<LogAnswer> {
    return queryLogs(this.#options.db, this.#options.nodes, query)
  }

  /** Every line of a choice, newest first, a page at a time. */
  async *exportLogs(query: Omit<LogQuery, 'limit' | 'before'>): AsyncGenerator<readonly LogItem[]> {
    let before: string | undefined
    do {
      const page = { ...query, limit: limits.logItemsMax, before }
      const { items, next } = await this.queryLogs(page)
      yield items
      before = next ?? undefined
    } while (before !== undefined)
  }

  /** Undefined: as many follow as may. */
  followLogs(choice: LogChoice): Promise<LogFollower | undefined> {
    return this.#feed.follow(choice)
  }

  /** Ends all that follow. */
  endFollowing(): void {
    this.#feed.end()
  }

  /** Lets what is under way come to its end; the database may be closed afterwards. */
  async close(): Promise<void> {
    clearInterval(this.#timer)
    this.#retention.stop()
    await this.#retaining
    await this.#ingest.idle()
  }

  async #noticeLoss(
    nodeId: string,
    bootId: string,
    storing: Promise<StoreResult>,
  ): Promise<StoreResult> {
    const result = await storing
    if (result.kind === 'stored' && result.missing > 0) {
      const fields = { nodeId, bootId, batches: result.missing }
      this.#options.log.warn(fields, 'batches that were stored once are missing from the database')
    }
    return result
  }

  #retain(): void {
    this.#retaining ??= this.#retention
      .run(this.#options.now())
      .catch((error: unknown) => {
        this.#options.log.error({ err: error }, 'old telemetry could not be removed')
      })
      .finally(() => {
        this.#retaining = undefined
      })
  }
}

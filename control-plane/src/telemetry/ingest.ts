/**
 * Stores what nodes report, each batch exactly once: the last stored sequence of a node's boot is kept in
 * the same transaction as what the batch adds. Batches that arrive while a transaction runs share the next
 * one, since each commit waits for the disk. Called by the fleet server, which answers only afterwards.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { CounterBatch, LogBatch } from '@sluice/proto'
import type { TelemetryDatabase } from '../store/database.ts'
import {
  addTraffic,
  type BatchKey,
  findBatchSequence,
  findPacked,
  insertLogs,
  inTelemetryTransaction,
  type NewLogRecord,
  type PackedMeasures,
  saveBatchSequence,
  type TelemetryTransaction,
  type TrafficKey,
  type TrafficRecord,
} from '../store/telemetry.ts'
import { type BatchIdentity, type Reading, readCounterBatch, readLogBatch } from './batch-rules.ts'
import { telemetryLimits as limits } from './limits.ts'
import { mergePacked } from './measure-sum.ts'
import { RollupSums } from './rollup-sums.ts'

export type StoreResult =
  /** The batch is on the disk, now or since an earlier time. */
  | {
      readonly kind: 'stored'
      readonly isRepeated: boolean
      /** Batches before this one that the node was told are stored, and that are not here. */
      readonly missing: number
    }
  /** The batch breaks a rule and changed nothing. */
  | { readonly kind: 'refused'; readonly reason: string }
  /** Too many batches wait; the same batch may be sent again later. */
  | { readonly kind: 'busy' }

/** How many rows the tables hold, kept up by whoever adds and removes. */
export interface StoredRows {
  traffic: number
  logs: number
}

interface WaitingBatch extends BatchIdentity {
  readonly nodeId: string
  readonly content:
    | { readonly kind: 'counters'; readonly rows: readonly TrafficRecord[] }
    | { readonly kind: 'logs'; readonly rows: readonly NewLogRecord[] }
  readonly settle: (result: StoreResult) => void
  readonly fail: (error: unknown) => void
}

/** What one batch did, to be told once its transaction is on the disk. */
interface Stored {
  readonly result: StoreResult
  readonly added: StoredRows
}

const nothing: StoredRows = Object.freeze({ traffic: 0, logs: 0 })

export class Ingest {
  readonly #db: TelemetryDatabase
  readonly #now: () => number
  readonly #rows: StoredRows
  readonly #onLogs: () => void
  readonly #waiting: WaitingBatch[] = []
  #draining: Promise<void> | undefined

  /** `onLogs`: lines are on the disk. */
  constructor(
    { db, now }: { readonly db: TelemetryDatabase; readonly now: () => number },
    rows: StoredRows,
    onLogs: () => void,
  ) {
    this.#db = db
    this.#rows = rows
    this.#now = now
    this.#onLogs = onLogs
  }

  storeCounters(nodeId: string, batch: CounterBatch): Promise<StoreResult> {
    const reading = readCounterBatch(batch, { nodeId, nowMs: this.#now() })
    return this.#store(nodeId, reading, (rows) => ({ kind: 'counters', rows }))
  }

  storeLogs(nodeId: string, batch: LogBatch): Promise<StoreResult> {
    const reading = readLogBatch(batch, { nodeId, nowMs: this.#now() })
    return this.#store(nodeId, reading, (rows) => ({ kind: 'logs', rows }))
  }

  /** Settles when everything that was handed in is stored. */
  async idle(): Promise<void> {
    await this.#draining
  }

  #store<Row>(
    nodeId: string,
    reading: Reading<Row>,
    toContent: (rows: readonly Row[]) => WaitingBatch['content'],
  ): Promise<StoreResult> {
    if (reading.kind === 'refused') {
      return Promise.resolve(reading)
    }
    if (this.#waiting.length >= limits.waitingBatchesMax) {
      return Promise.resolve({ kind: 'busy' })
    }
    const { bootId, sequence } = reading
    const content = toContent(reading.rows)
    return new Promise((settle, fail) => {
      this.#waiting.push({ nodeId, bootId, sequence, content, settle, fail })
      this.#draining ??= this.#drain()
    })
  }

  async #drain(): Promise<void> {
    // A turn of the event loop first, so that batches which came together are stored together.
    await nextTurn()
    while (this.#waiting.length > 0) {
      await this.#storeTogether(this.#takeGroup())
    }
    this.#draining = undefined
  }

  #takeGroup(): WaitingBatch[] {
    let rows = 0
    let length = 0
    for (const batch of this.#waiting) {
      rows += batch.content.rows.length
      if (
        length === limits.batchesPerTransactionMax ||
        (length > 0 && rows > limits.rowsPerTransactionMax)
      ) {
        break
      }
      length += 1
    }
    return this.#waiting.splice(0, length)
  }

  async #storeTogether(group: readonly WaitingBatch[]): Promise<void> {
    let stored: Stored[]
    try {
      stored = await inTelemetryTransaction(this.#db, async (tx) => {
        const results: Stored[] = []
        const sums = new RollupSums()
        for (const batch of group) {
          results.push(await this.#storeOne(tx, batch, sums))
        }
        await sums.write(tx)
        return results
      })
    } catch (error) {
      await this.#storeApart(group, error)
      return
    }
    for (const [index, { result, added }] of stored.entries()) {
      this.#rows.traffic += added.traffic
      this.#rows.logs += added.logs
      group[index]?.settle(result)
    }
    if (stored.some(({ added }) => added.logs > 0)) this.#onLogs()
  }

  /** One batch that cannot be stored must not take the others of its group with it. */
  async #storeApart(group: readonly WaitingBatch[], error: unknown): Promise<void> {
    const [first] = group
    if (group.length === 1 && first !== undefined) {
      first.fail(error)
      return
    }
    for (const batch of group) {
      await this.#storeTogether([batch])
    }
  }

  async #storeOne(
    tx: TelemetryTransaction,
    batch: WaitingBatch,
    sums: RollupSums,
  ): Promise<Stored> {
    const key: BatchKey = { node: batch.nodeId, boot_id: batch.bootId, kind: batch.content.kind }
    const last = await findBatchSequence(tx, key)
    if (batch.sequence <= last) {
      return { result: { kind: 'stored', isRepeated: true, missing: 0 }, added: nothing }
    }
    // A node sends the next batch only after the one before was acknowledged, so what is missing was lost
    // here, with an older copy of the database. Refusing what came since would lose that as well.
    const missing = batch.sequence - last - 1
    const added = await this.#addRows(tx, batch.content, sums)
    await saveBatchSequence(tx, { ...key, sequence: batch.sequence, stored_at_ms: this.#now() })
    return { result: { kind: 'stored', isRepeated: false, missing }, added }
  }

  async #addRows(
    tx: TelemetryTransaction,
    content: WaitingBatch['content'],
    sums: RollupSums,
  ): Promise<StoredRows> {
    switch (content.kind) {
      case 'counters': {
        let traffic = 0
        for (const rows of slices(mergeRows(content.rows))) {
          traffic += await addMinutes(tx, rows)
          for (const row of rows) sums.add(row)
          await nextTurn()
        }
        return { traffic, logs: 0 }
      }
      case 'logs':
        for (const rows of slices(content.rows)) {
          await insertLogs(tx, rows)
          await nextTurn()
        }
        return { traffic: 0, logs: content.rows.length }
    }
  }
}

/** Adds minute rows with different keys; tells how many are new. */
async function addMinutes(
  tx: TelemetryTransaction,
  rows: readonly TrafficRecord[],
): Promise<number> {
  const present = new Map<string, PackedMeasures>()
  for (const row of await findPacked(tx, rows)) {
    present.set(keyOf(row), row)
  }
  const merged = rows.map((row) => {
    const other = present.get(keyOf(row))
    return other === undefined ? row : { ...row, ...mergedMeasures(row, other) }
  })
  await addTraffic(tx, merged)
  return rows.length - present.size
}

/** A batch may hold several rows of one key; a statement may not. */
function mergeRows(rows: readonly TrafficRecord[]): TrafficRecord[] {
  const byKey = new Map<string, TrafficRecord>()
  for (const row of rows) {
    const key = keyOf(row)
    const other = byKey.get(key)
    byKey.set(key, other === undefined ? row : addRows(other, row))
  }
  return [...byKey.values()]
}

function addRows(a: TrafficRecord, b: TrafficRecord): TrafficRecord {
  return {
    minute_ms: a.minute_ms,
    node: a.node,
    router: a.router,
    service: a.service,
    informational: a.informational + b.informational,
    success: a.success + b.success,
    redirection: a.redirection + b.redirection,
    client_error: a.client_error + b.client_error,
    server_error: a.server_error + b.server_error,
    none: a.none + b.none,
    bytes_in: a.bytes_in + b.bytes_in,
    bytes_out: a.bytes_out + b.bytes_out,
    retries: a.retries + b.retries,
    ...mergedMeasures(a, b),
  }
}

function mergedMeasures(a: PackedMeasures, b: PackedMeasures): PackedMeasures {
  return {
    latency: mergePacked(a.latency, b.latency),
    first_byte: mergePacked(a.first_byte, b.first_byte),
    breakdown: mergePacked(a.breakdown, b.breakdown),
  }
}

function keyOf(key: TrafficKey): string {
  return `${key.minute_ms} ${key.node} ${key.router} ${key.service}`
}

function* slices<Row>(rows: readonly Row[]): Generator<readonly Row[]> {
  for (let at = 0; at < rows.length; at += limits.rowsPerStatement) {
    yield rows.slice(at, at + limits.rowsPerStatement)
  }
}

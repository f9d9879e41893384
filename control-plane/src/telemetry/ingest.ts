/**
 * Stores what nodes report, each batch exactly once: the last stored sequence of a node's boot is kept in
 * the same transaction as what the batch adds. Batches that arrive within a moment, or while a transaction
 * runs, share the next one, since each commit waits for the disk. Called by the fleet server, which answers
 * only afterwards.
 */
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises'
import type { CounterBatch, LogBatch } from '@sluice/proto'
import { minuteRowsOf, type TelemetryDatabase } from '../store/database.ts'
import type { MinuteRows } from '../store/minute-rows.ts'
import {
  type BatchKey,
  findBatchSequences,
  insertLogs,
  inTelemetryTransaction,
  type NewLogRecord,
  saveBatchSequences,
  type TelemetryTransaction,
  type TrafficRecord,
} from '../store/telemetry.ts'
import { type BatchIdentity, type Reading, readCounterBatch, readLogBatch } from './batch-rules.ts'
import { telemetryLimits as limits } from './limits.ts'
import { mergePacked } from './packed-counts.ts'
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

/** What a group of batches did, to be told once its transaction is on the disk. */
interface Stored {
  /** One for each batch. */
  readonly results: readonly StoreResult[]
  readonly added: StoredRows
  /** The minute rows, as they came. */
  readonly traffic: readonly TrafficRecord[]
}

/** Told of what is on the disk. */
export interface IngestListener {
  logs(): void
  /** What was counted since what was told before. */
  traffic(rows: readonly TrafficRecord[]): void
}

export class Ingest {
  readonly #db: TelemetryDatabase
  readonly #now: () => number
  readonly #rows: StoredRows
  readonly #onStored: IngestListener
  readonly #waiting: WaitingBatch[] = []
  #draining: Promise<void> | undefined

  constructor(
    { db, now }: { readonly db: TelemetryDatabase; readonly now: () => number },
    rows: StoredRows,
    onStored: IngestListener,
  ) {
    this.#db = db
    this.#rows = rows
    this.#now = now
    this.#onStored = onStored
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
    while (this.#waiting.length > 0) {
      if (this.#waiting.length < limits.batchesPerTransactionMax) await delay(limits.gatherMs)
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
    let stored: Stored
    try {
      stored = await inTelemetryTransaction(this.#db, (tx) => this.#storeGroup(tx, group))
    } catch (error) {
      await this.#storeApart(group, error)
      return
    }
    this.#rows.traffic += stored.added.traffic
    this.#rows.logs += stored.added.logs
    for (const [index, result] of stored.results.entries()) group[index]?.settle(result)
    if (stored.added.logs > 0) this.#onStored.logs()
    if (stored.traffic.length > 0) this.#onStored.traffic(stored.traffic)
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

  async #storeGroup(tx: TelemetryTransaction, group: readonly WaitingBatch[]): Promise<Stored> {
    const sequences = new Map<string, number>()
    for (const row of await findBatchSequences(tx, group.map(keyOfBatch))) {
      sequences.set(textOf(row), row.sequence)
    }
    const fresh = new Map<string, WaitingBatch>()
    const traffic: TrafficRecord[] = []
    const logs: NewLogRecord[] = []
    const results = group.map((batch): StoreResult => {
      const key = textOf(keyOfBatch(batch))
      const last = sequences.get(key) ?? 0
      if (batch.sequence <= last) return { kind: 'stored', isRepeated: true, missing: 0 }
      sequences.set(key, batch.sequence)
      fresh.set(key, batch)
      if (batch.content.kind === 'counters') traffic.push(...batch.content.rows)
      else logs.push(...batch.content.rows)
      // A node sends the next batch only after the one before was acknowledged, so what is missing was lost
      // here, with an older copy of the database. Refusing what came since would lose that as well.
      return { kind: 'stored', isRepeated: false, missing: batch.sequence - last - 1 }
    })
    const minutes = minuteRowsOf(this.#db)
    const added = {
      traffic: await addTrafficRows(tx, minutes, traffic),
      logs: await addLogLines(tx, logs),
    }
    const nowMs = this.#now()
    const stored = Array.from(fresh.values(), (batch) => ({
      ...keyOfBatch(batch),
      sequence: batch.sequence,
      stored_at_ms: nowMs,
    }))
    if (stored.length > 0) await saveBatchSequences(tx, stored)
    return { results, added, traffic }
  }
}

function keyOfBatch({ nodeId, bootId, content }: WaitingBatch): BatchKey {
  return { node: nodeId, boot_id: bootId, kind: content.kind }
}

function textOf({ node, boot_id, kind }: BatchKey): string {
  return `${node} ${boot_id} ${kind}`
}

/** Tells how many minute rows are new. */
async function addTrafficRows(
  tx: TelemetryTransaction,
  minutes: MinuteRows,
  rows: readonly TrafficRecord[],
): Promise<number> {
  let added = 0
  const sums = new RollupSums()
  for (const slice of slices(rows)) {
    added += minutes.add(slice, mergePacked)
    for (const row of slice) sums.add(row)
    await nextTurn()
  }
  await sums.write(tx)
  return added
}

async function addLogLines(
  tx: TelemetryTransaction,
  rows: readonly NewLogRecord[],
): Promise<number> {
  for (const slice of slices(rows)) {
    await insertLogs(tx, slice)
    await nextTurn()
  }
  return rows.length
}

function* slices<Row>(rows: readonly Row[]): Generator<readonly Row[]> {
  for (let at = 0; at < rows.length; at += limits.rowsPerStatement) {
    yield rows.slice(at, at + limits.rowsPerStatement)
  }
}

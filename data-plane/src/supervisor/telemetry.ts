/**
 * Turns the workers' reports into counter batches that the control plane stores exactly once: merged until
 * they are sent, numbered, on disk before they leave, sent again until they are acknowledged. While the
 * control plane is away everything goes on accumulating in one bounded table.
 */
import { randomUUID } from 'node:crypto'
import type { CounterBatch } from '@sluice/proto'
import type { Logger } from 'pino'
import type { TrafficDelta } from '../worker-protocol.ts'
import { reasonOf } from './errors.ts'
import { limits } from './limits.ts'
import type { SpooledCounters, TelemetrySpool } from './telemetry-spool.ts'
import { countRequests, TrafficTable } from './traffic-table.ts'

/** Where batches go. */
export interface CounterSender {
  readonly isOpen: boolean
  sendCounters(batch: CounterBatch): void
}

export interface TelemetryOptions {
  readonly bootId: string
  readonly spool: TelemetrySpool
  readonly sender: CounterSender
  readonly logger: Logger
  readonly now?: () => number
}

/** The counters of one boot. */
interface Ledger {
  bootId: string
  readonly table: TrafficTable
  lastSequence: bigint
  inFlight: CounterBatch | undefined
}

export class Telemetry {
  readonly #options: TelemetryOptions
  readonly #now: () => number
  /** Those of earlier boots first; the last one is this boot's. */
  readonly #ledgers: Ledger[]
  readonly #own: Ledger
  readonly #waiters = new Set<() => void>()
  #isSent = false
  #isUnsaved = false
  #diskProblem: string | undefined
  #nextSaveAtMs = 0
  #coarsenedBefore = 0
  #requestsRefused = 0

  constructor(options: TelemetryOptions) {
    this.#options = options
    this.#now = options.now ?? performance.now.bind(performance)
    this.#own = {
      bootId: options.bootId,
      table: new TrafficTable(),
      lastSequence: 0n,
      inFlight: undefined,
    }
    const earlier = options.spool.load().map(toLedger)
    if (earlier.length > 0) options.logger.info({ boots: earlier.length }, 'stored counters found')
    this.#ledgers = [...earlier, this.#own]
  }

  add(traffic: readonly TrafficDelta[]): void {
    for (const delta of traffic) this.#own.table.add(delta)
    if (traffic.length > 0) this.#isUnsaved = true
  }

  /** Rows that became coarser since the control plane was away for too long. */
  get rowsCoarsened(): number {
    return this.#own.table.coarsened
  }

  /** Requests in batches that the control plane would not take. */
  get requestsRefused(): number {
    return this.#requestsRefused
  }

  /** Why counters are in memory alone, for operators; undefined while they are not. */
  get diskProblem(): string | undefined {
    return this.#diskProblem
  }

  /** Rows that wait, without those in flight. */
  get rowsWaiting(): number {
    return this.#ledgers.reduce((sum, { table }) => sum + table.size, 0)
  }

  /** Once a second: sends what there is, or else keeps it on disk. */
  tick(): void {
    this.#advance()
    const isSaveDue = this.#isUnsaved || this.#diskProblem !== undefined
    if (isSaveDue && this.#now() >= this.#nextSaveAtMs) this.#save(this.#own)
    const { coarsened } = this.#own.table
    if (coarsened > this.#coarsenedBefore) {
      const rows = coarsened - this.#coarsenedBefore
      this.#options.logger.warn({ rows }, 'too many counters wait: old ones were made coarser')
      this.#coarsenedBefore = coarsened
    }
  }

  /** A new stream: what was in flight on the old one is sent again. */
  connected(): void {
    this.#isSent = false
    this.#advance()
  }

  disconnected(): void {
    this.#isSent = false
    this.#settle()
  }

  /**
   * The control plane does not take what was sent. It may have lost the numbers before, so the batch goes out
   * again under a new name as number 1; refused as number 1 too, and alone, it is put aside, since nothing
   * may block what comes after it.
   */
  refused(reason: string, isAlone: boolean): void {
    const [ledger] = this.#ledgers
    const batch = ledger?.inFlight
    if (ledger === undefined || batch === undefined || !this.#isSent) return
    const requests = countRequests(batch)
    if (batch.sequence !== 1n) {
      this.#options.logger.warn({ requests, reason }, 'counters were refused and get a new number')
      this.#rename(ledger, batch)
    } else if (isAlone) {
      this.#options.logger.error({ requests, reason }, 'counters were refused and are put aside')
      this.#putAside(ledger, batch)
    }
  }

  /** The control plane has the batch. */
  stored(bootId: string, sequence: bigint): void {
    const [ledger] = this.#ledgers
    const batch = ledger?.inFlight
    // An answer to a batch that was sent twice may come twice.
    if (ledger === undefined || batch?.sequence !== sequence || batch.bootId !== bootId) return
    ledger.inFlight = undefined
    this.#isSent = false
    if (ledger !== this.#own) {
      this.#advance()
    } else if (ledger.table.size === 0) {
      this.#options.spool.remove(bootId)
      this.#isUnsaved = false
    }
    this.#settle()
  }

  /** Sends all there is; true when the control plane has it within the time, else it is on the disk. */
  async flush(timeoutMs: number): Promise<boolean> {
    const deadline = this.#now() + timeoutMs
    if (this.#isUnsaved) this.#save(this.#own)
    this.#advance()
    while (!this.#isEmpty() && this.#options.sender.isOpen && this.#now() < deadline) {
      await this.#nextAnswer(deadline - this.#now())
      this.#advance()
    }
    return this.#isEmpty()
  }

  #isEmpty(): boolean {
    return this.#ledgers.every(({ table, inFlight }) => table.size === 0 && inFlight === undefined)
  }

  #nextAnswer(timeoutMs: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const settle = () => {
      clearTimeout(timer)
      this.#waiters.delete(settle)
      resolve()
    }
    const timer = setTimeout(settle, timeoutMs)
    this.#waiters.add(settle)
    return promise
  }

  #settle(): void {
    for (const settle of this.#waiters) settle()
  }

  #advance(): void {
    const [ledger] = this.#ledgers
    if (ledger === undefined || this.#isSent || !this.#options.sender.isOpen) return
    if (ledger.inFlight === undefined && ledger.table.size === 0) {
      if (ledger === this.#own) return
      this.#options.spool.remove(ledger.bootId)
      this.#ledgers.shift()
      this.#advance()
      return
    }
    ledger.inFlight ??= this.#freeze(ledger)
    this.#isSent = true
    this.#options.sender.sendCounters(ledger.inFlight)
  }

  /** The next batch. It is on disk before it leaves, and stays as it is until it is acknowledged. */
  #freeze(ledger: Ledger): CounterBatch {
    ledger.lastSequence += 1n
    const { bootId, lastSequence: sequence } = ledger
    const batch = { bootId, sequence, rows: ledger.table.take() }
    this.#save({ ...ledger, inFlight: batch })
    return batch
  }

  #rename(ledger: Ledger, { rows }: CounterBatch): void {
    const before = ledger.bootId
    ledger.bootId = randomUUID()
    ledger.lastSequence = 1n
    ledger.inFlight = { bootId: ledger.bootId, sequence: 1n, rows }
    // Cut off after the rename, the old number would be refused and renamed again: counted once either way.
    this.#tryDisk(() => this.#options.spool.rename(before, ledger.bootId))
    this.#save(ledger)
  }

  #putAside(ledger: Ledger, batch: CounterBatch): void {
    this.#requestsRefused += countRequests(batch)
    ledger.inFlight = undefined
    ledger.lastSequence = 0n
    this.#tryDisk(() => this.#options.spool.putAside(batch))
    this.#save(ledger)
  }

  #save({ bootId, table, lastSequence, inFlight }: Ledger): void {
    const accumulated = { bootId, sequence: lastSequence, rows: table.peek() }
    const beganAtMs = this.#now()
    const isSaved = this.#tryDisk(() => this.#options.spool.save({ bootId, inFlight, accumulated }))
    if (isSaved && bootId === this.#own.bootId) this.#isUnsaved = false
    const endedAtMs = this.#now()
    this.#nextSaveAtMs = endedAtMs + (endedAtMs - beganAtMs) / limits.spoolTimeShare
  }

  /** Counting goes on in memory; the same batch under the same number is never counted twice. */
  #tryDisk(work: () => void): boolean {
    const { logger } = this.#options
    try {
      work()
      if (this.#diskProblem !== undefined) logger.info('counters are stored again')
      this.#diskProblem = undefined
      return true
    } catch (error) {
      const reason = reasonOf(error)
      if (this.#diskProblem === undefined) logger.error({ reason }, 'counters cannot be stored')
      this.#diskProblem = `counters cannot be stored, and are in memory alone: ${reason}`
      return false
    }
  }
}

function toLedger({ bootId, inFlight, accumulated }: SpooledCounters): Ledger {
  const table = new TrafficTable()
  table.addRows(accumulated.rows)
  return { bootId, table, lastSequence: accumulated.sequence, inFlight }
}

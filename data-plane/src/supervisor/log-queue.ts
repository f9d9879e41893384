/**
 * Log lines on their way to the control plane: one batch at a time, the rest in a bounded queue that drops
 * its oldest lines. What is dropped is counted as not kept in the next batch, so that lines and not kept
 * always add up to the requests.
 */
import { randomUUID } from 'node:crypto'
import { type LogBatch, LogLine } from '@sluice/proto'
import type { Logger } from 'pino'
import { limits } from './limits.ts'
import type { MergedSecond } from './log-merge.ts'

export interface LogSender {
  readonly isOpen: boolean
  sendLogs(batch: LogBatch): void
}

export interface LogQueueOptions {
  readonly bootId: string
  readonly sender: LogSender
  readonly logger: Logger
  /** Batches of earlier boots; they go first, as they are. */
  readonly carried: readonly LogBatch[]
}

interface QueuedLine {
  readonly line: LogLine
  readonly bytes: number
}

export class LogQueue {
  readonly #sender: LogSender
  readonly #logger: Logger
  readonly #waiters = new Set<() => void>()
  readonly #carried: LogBatch[]
  #bootId: string
  #lines: QueuedLine[] = []
  #bytes = 0
  #notKept = 0
  #sequence = 0n
  #inFlight: LogBatch | undefined
  #isSent = false
  #dropped = 0
  #delivered = 0

  constructor({ bootId, sender, logger, carried }: LogQueueOptions) {
    this.#bootId = bootId
    this.#sender = sender
    this.#logger = logger
    this.#carried = [...carried]
  }

  /** A batch was sent and is not answered. */
  get isInFlight(): boolean {
    return this.#isSent
  }

  /** Lines that were kept first and lost to the bound. */
  get dropped(): number {
    return this.#dropped
  }

  /** Lines that the control plane has. */
  get delivered(): number {
    return this.#delivered
  }

  get waiting(): number {
    return this.#lines.length
  }

  add({ lines, notKept }: MergedSecond): void {
    this.#notKept += notKept
    for (const line of lines) {
      const bytes = LogLine.encode(line).finish().length
      this.#lines.push({ line, bytes })
      this.#bytes += bytes
    }
    let surplus = 0
    while (this.#isOver(surplus)) {
      this.#bytes -= this.#lines[surplus]?.bytes ?? 0
      surplus += 1
    }
    this.#lines.splice(0, surplus)
    this.#dropped += surplus
    this.#notKept += surplus
  }

  tick(): void {
    this.#advance()
  }

  connected(): void {
    this.#isSent = false
    this.#advance()
  }

  disconnected(): void {
    this.#isSent = false
    this.#settle()
  }

  /** The control plane does not take the batch: its lines are dropped, and numbers start anew. */
  refused(reason: string): void {
    const batch = this.#inFlight
    if (batch === undefined || !this.#isSent) return
    const lines = batch.lines.length
    this.#logger.error({ lines, reason }, 'the control plane refused request logs')
    this.#inFlight = undefined
    this.#isSent = false
    this.#dropped += lines
    this.#notKept += lines + Number(batch.notKept)
    if (batch.bootId !== this.#bootId) return
    this.#bootId = randomUUID()
    this.#sequence = 0n
  }

  stored(bootId: string, sequence: bigint): void {
    if (this.#inFlight?.bootId !== bootId || this.#inFlight.sequence !== sequence) return
    this.#delivered += this.#inFlight.lines.length
    this.#inFlight = undefined
    this.#isSent = false
    this.#advance()
    this.#settle()
  }

  /** True when the control plane has everything within the time. */
  async flush(timeoutMs: number): Promise<boolean> {
    const deadline = performance.now() + timeoutMs
    this.#advance()
    while (this.#inFlight !== undefined && this.#sender.isOpen && performance.now() < deadline) {
      await this.#nextAnswer(deadline - performance.now())
    }
    return this.#inFlight === undefined && this.#lines.length === 0
  }

  /** Takes out all that was not delivered, in order. */
  takeAll(): LogBatch[] {
    const batches = this.#inFlight === undefined ? [] : [this.#inFlight]
    batches.push(...this.#carried.splice(0))
    this.#inFlight = undefined
    for (let next = this.#nextBatch(); next !== undefined; next = this.#nextBatch()) {
      batches.push(next)
    }
    return batches
  }

  #isOver(surplus: number): boolean {
    if (surplus >= this.#lines.length) return false
    const count = this.#lines.length - surplus
    return count > limits.logLinesQueuedMax || this.#bytes > limits.logBytesQueuedMax
  }

  #advance(): void {
    if (this.#isSent || !this.#sender.isOpen) return
    this.#inFlight ??= this.#carried.shift() ?? this.#nextBatch()
    if (this.#inFlight === undefined) return
    this.#isSent = true
    this.#sender.sendLogs(this.#inFlight)
  }

  #nextBatch(): LogBatch | undefined {
    if (this.#lines.length === 0 && this.#notKept === 0) return undefined
    let bytes = 0
    let count = 0
    for (const queued of this.#lines) {
      bytes += queued.bytes
      if (count > 0 && bytes > limits.batchBytesMax) break
      count += 1
    }
    const taken = this.#lines.splice(0, count)
    for (const queued of taken) this.#bytes -= queued.bytes
    const notKept = this.#notKept
    this.#notKept = 0
    this.#sequence += 1n
    return {
      bootId: this.#bootId,
      sequence: this.#sequence,
      lines: taken.map(({ line }) => line),
      notKept: BigInt(notKept),
    }
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
}

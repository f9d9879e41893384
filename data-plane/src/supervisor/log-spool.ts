/**
 * Log batches that a stop could not deliver, for the next start. Written once, at the stop: a process that is
 * killed loses its lines, never its counters.
 */
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { LogBatch } from '@sluice/proto'
import type { Logger } from 'pino'
import { codeOf, reasonOf } from './errors.ts'
import { limits } from './limits.ts'

const LENGTH_BYTES = 4

export class LogSpool {
  readonly #path: string
  readonly #logger: Logger

  constructor(dataFolder: string, logger: Logger) {
    this.#path = join(dataFolder, 'telemetry', 'lines.logs')
    this.#logger = logger
  }

  /** Gives back what the last stop left, and removes it. */
  take(): LogBatch[] {
    try {
      const file = readFileSync(this.#path)
      rmSync(this.#path)
      return decode(file)
    } catch (error) {
      if (codeOf(error) !== 'ENOENT') {
        this.#logger.error({ reason: reasonOf(error) }, 'stored request logs cannot be read')
      }
      return []
    }
  }

  save(batches: readonly LogBatch[]): void {
    if (batches.length === 0) return
    try {
      mkdirSync(dirname(this.#path), { recursive: true, mode: 0o700 })
      writeFileSync(`${this.#path}.tmp`, encode(batches), { mode: 0o600 })
      renameSync(`${this.#path}.tmp`, this.#path)
    } catch (error) {
      this.#logger.error({ reason: reasonOf(error) }, 'request logs cannot be stored')
    }
  }
}

/** Newest first up to the bound in bytes; older batches keep their numbers and counts, not their lines. */
function encode(batches: readonly LogBatch[]): Uint8Array {
  let room = limits.logBytesQueuedMax
  const parts: Uint8Array[] = []
  for (const batch of batches.slice(-limits.logBatchesStoredMax).toReversed()) {
    const whole = LogBatch.encode(batch).finish()
    room -= whole.length
    const content = room >= 0 ? whole : LogBatch.encode(withoutLines(batch)).finish()
    const length = Buffer.alloc(LENGTH_BYTES)
    length.writeUInt32BE(content.length)
    parts.unshift(length, content)
  }
  return Buffer.concat(parts)
}

function withoutLines(batch: LogBatch): LogBatch {
  return { ...batch, lines: [], notKept: batch.notKept + BigInt(batch.lines.length) }
}

function decode(file: Buffer): LogBatch[] {
  const batches: LogBatch[] = []
  for (let at = 0; at < file.length; ) {
    const end = at + LENGTH_BYTES + file.readUInt32BE(at)
    if (end > file.length) throw new Error('the file ends within a batch')
    batches.push(LogBatch.decode(file.subarray(at + LENGTH_BYTES, end)))
    at = end
  }
  return batches
}

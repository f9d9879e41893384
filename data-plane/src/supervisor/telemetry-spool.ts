/**
 * The counters that are not acknowledged yet, on disk: one file for each boot, replaced as a whole, so that
 * the batch that was sent and what was counted since can never disagree.
 *
 * Not flushed: the end of this process loses nothing, and a power cut at most the last seconds. Counting
 * twice is excluded in either case, since an old file only repeats boot and sequence numbers that the
 * control plane has seen.
 */
import { createHash } from 'node:crypto'
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { CounterBatch } from '@sluice/proto'
import type { Logger } from 'pino'
import { reasonOf } from './errors.ts'
import { limits } from './limits.ts'

export interface SpooledCounters {
  readonly bootId: string
  /** Was perhaps sent already: it goes out again as it is. */
  readonly inFlight: CounterBatch | undefined
  /** Was never sent. Its sequence is that of the last batch before it. */
  readonly accumulated: CounterBatch
}

const FORMAT = Buffer.from('sluice-counters-1\n')
const DIGEST_BYTES = 32
const SUFFIX = '.counters'

export class TelemetrySpool {
  readonly #folder: string
  readonly #logger: Logger

  constructor(dataFolder: string, logger: Logger) {
    this.#folder = join(dataFolder, 'telemetry')
    this.#logger = logger
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 })
  }

  /** What earlier boots left, oldest first. A file that cannot be read is put aside and named. */
  load(): SpooledCounters[] {
    const found: { readonly counters: SpooledCounters; readonly writtenAtMs: number }[] = []
    for (const name of readdirSync(this.#folder)) {
      const path = join(this.#folder, name)
      if (name.endsWith('.tmp')) rmSync(path, { force: true })
      if (!name.endsWith(SUFFIX)) continue
      try {
        const bootId = name.slice(0, -SUFFIX.length)
        const counters = decode(readFileSync(path), bootId)
        found.push({ counters, writtenAtMs: statSync(path).mtimeMs })
      } catch (error) {
        const reason = reasonOf(error)
        this.#logger.error(
          { file: path, reason },
          'stored counters cannot be read and are put aside',
        )
        renameSync(path, `${path}.unreadable`)
      }
    }
    found.sort((one, other) => one.writtenAtMs - other.writtenAtMs)
    return found.map(({ counters }) => counters)
  }

  save(counters: SpooledCounters): void {
    const path = this.#path(counters.bootId)
    writeFileSync(`${path}.tmp`, encode(counters), { mode: 0o600 })
    renameSync(`${path}.tmp`, path)
  }

  /** The name of the file is what counts; the content still has the boot before until it is saved. */
  rename(bootIdBefore: string, bootId: string): void {
    renameSync(this.#path(bootIdBefore), this.#path(bootId))
  }

  /** Keeps a batch that is not sent any more, for an operator to look at. */
  putAside(batch: CounterBatch): void {
    const path = join(this.#folder, `${batch.bootId}.${Date.now()}.refused`)
    writeFileSync(path, CounterBatch.encode(batch).finish(), { mode: 0o600 })
  }

  remove(bootId: string): void {
    rmSync(this.#path(bootId), { force: true })
  }

  #path(bootId: string): string {
    return join(this.#folder, `${bootId}${SUFFIX}`)
  }
}

function encode({ inFlight, accumulated }: SpooledCounters): Uint8Array {
  const first = CounterBatch.encode(accumulated).finish()
  const second = inFlight === undefined ? new Uint8Array() : CounterBatch.encode(inFlight).finish()
  const length = Buffer.alloc(4)
  length.writeUInt32BE(first.length)
  const body = Buffer.concat([length, first, second])
  return Buffer.concat([FORMAT, createHash('sha256').update(body).digest(), body])
}

function decode(file: Buffer, bootId: string): SpooledCounters {
  const digestAt = FORMAT.length
  const bodyAt = digestAt + DIGEST_BYTES
  if (file.length < bodyAt + 4 || file.length > limits.spoolFileBytesMax) {
    throw new Error(`its length is ${file.length} bytes`)
  }
  const body = file.subarray(bodyAt)
  const digest = createHash('sha256').update(body).digest()
  if (
    !file.subarray(0, digestAt).equals(FORMAT) ||
    !file.subarray(digestAt, bodyAt).equals(digest)
  ) {
    throw new Error('its checksum does not fit')
  }
  const split = 4 + body.readUInt32BE(0)
  const accumulated = CounterBatch.decode(body.subarray(4, split))
  if (split === body.length) return { bootId, inFlight: undefined, accumulated }
  return { bootId, inFlight: { ...CounterBatch.decode(body.subarray(split)), bootId }, accumulated }
}

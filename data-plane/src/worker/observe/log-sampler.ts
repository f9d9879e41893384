/**
 * Chooses the exchanges that become log lines: for each second and class a uniform sample of at most the
 * node's cap, by reservoir sampling with skips (Li's Algorithm L), so that an exchange which is not chosen
 * costs a decrement and no line. Hot: LogSampler.chooses.
 */
import type { LogLine } from '@sluice/proto'
import type { ClassSample, LogSample } from '../../worker-protocol.ts'

class Reservoir {
  #seen = 0
  #skip = 0
  #threshold = 1
  #lines: LogLine[] = []
  #slot = 0
  readonly #random: () => number

  constructor(random: () => number) {
    this.#random = random
  }

  /** Counts one exchange; true when its line must follow by `put`. */
  chooses(capacity: number): boolean {
    this.#seen += 1
    if (this.#skip > 0) {
      this.#skip -= 1
      return false
    }
    if (capacity === 0) return false
    this.#slot =
      this.#lines.length < capacity ? this.#lines.length : Math.floor(this.#random() * capacity)
    return true
  }

  put(line: LogLine, capacity: number): void {
    this.#lines[this.#slot] = line
    if (this.#lines.length < capacity) return
    this.#threshold *= Math.exp(Math.log(1 - this.#random()) / capacity)
    const skip = Math.log(1 - this.#random()) / Math.log(1 - this.#threshold)
    this.#skip = Math.min(Math.floor(skip), Number.MAX_SAFE_INTEGER)
  }

  take(): ClassSample {
    const sample = { seen: this.#seen, lines: this.#lines }
    this.#seen = 0
    this.#skip = 0
    this.#threshold = 1
    this.#lines = []
    return sample
  }
}

export class LogSampler {
  /** Lines that a node keeps in a second; a setting of the fleet. */
  capacity = 0
  readonly #ordinary: Reservoir
  readonly #notable: Reservoir
  readonly #finished: LogSample[] = []
  #secondMs = 0
  #secondEndMs = 0
  #chosen: Reservoir

  /** `random`: uniform in [0, 1). */
  constructor(random: () => number) {
    this.#ordinary = new Reservoir(random)
    this.#notable = new Reservoir(random)
    this.#chosen = this.#ordinary
  }

  /** Counts an exchange that ended at `timeMs` since the epoch; true when its line must follow by `put`. */
  chooses(timeMs: number, isNotable: boolean): boolean {
    if (timeMs >= this.#secondEndMs) this.#roll(timeMs)
    this.#chosen = isNotable ? this.#notable : this.#ordinary
    return this.#chosen.chooses(this.capacity)
  }

  put(line: LogLine): void {
    this.#chosen.put(line, this.capacity)
  }

  /** The seconds that have ended by `timeMs`, oldest first; at least one. */
  take(timeMs: number): LogSample[] {
    // A clock that was set back ends the second that is open, too.
    if (timeMs >= this.#secondEndMs || timeMs < this.#secondMs) this.#roll(timeMs)
    if (this.#finished.length === 0) return [emptySample(this.#secondMs - 1_000)]
    return this.#finished.splice(0)
  }

  /** Everything, the running second included. */
  takeAll(): LogSample[] {
    this.#roll(this.#secondEndMs)
    return this.#finished.splice(0)
  }

  #roll(timeMs: number): void {
    const sample = {
      secondMs: this.#secondMs,
      ordinary: this.#ordinary.take(),
      notable: this.#notable.take(),
    }
    if (sample.ordinary.seen + sample.notable.seen > 0) this.#finished.push(sample)
    this.#secondMs = Math.floor(timeMs / 1_000) * 1_000
    this.#secondEndMs = this.#secondMs + 1_000
  }
}

function emptySample(secondMs: number): LogSample {
  return { secondMs, ordinary: { seen: 0, lines: [] }, notable: { seen: 0, lines: [] } }
}

/** A wish of the control plane for more log lines for a while. It ends by itself, whatever becomes of the link. */
import { limits } from './limits.ts'

export class LogRaise {
  readonly #onChanged: (linesPerSecond: number) => void
  #linesPerSecond = 0
  #timer: NodeJS.Timeout | undefined

  /** `onChanged`: the lines to keep at least in any second. */
  constructor(onChanged: (linesPerSecond: number) => void) {
    this.#onChanged = onChanged
  }

  /** Lines to keep in any second when it is above the setting; 0: as the setting says. */
  get linesPerSecond(): number {
    return this.#linesPerSecond
  }

  /** Replaces an earlier one. */
  set(linesPerSecond: number, forMs: number): void {
    clearTimeout(this.#timer)
    const boundedMs = Math.min(forMs, limits.logRaiseMaxMs)
    this.#change(boundedMs === 0 ? 0 : Math.min(linesPerSecond, limits.logLinesPerSecondMax))
    if (boundedMs === 0) return
    this.#timer = setTimeout(() => this.#change(0), boundedMs)
    this.#timer.unref()
  }

  stop(): void {
    clearTimeout(this.#timer)
  }

  #change(linesPerSecond: number): void {
    this.#linesPerSecond = linesPerSecond
    this.#onChanged(linesPerSecond)
  }
}

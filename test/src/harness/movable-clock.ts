/** A wall clock that a test moves, for the processes that are started with its environment; by libfaketime. */
import { existsSync } from 'node:fs'
import { rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Scope } from './scope.ts'

const CANDIDATES = ['x86_64-linux-gnu', 'aarch64-linux-gnu'].map(
  (machine) => `/usr/lib/${machine}/faketime/libfaketimeMT.so.1`,
)
const LIBRARY = CANDIDATES.find((file) => existsSync(file))

export const canMoveClock = LIBRARY !== undefined
export const whyNoClock = canMoveClock
  ? ''
  : ' (skipped: no libfaketime; apt-get install libfaketime)'

export class MovableClock {
  readonly #file: string

  static async create(scope: Scope): Promise<MovableClock> {
    const clock = new MovableClock(join(await scope.temporaryDirectory(), 'clock'))
    await clock.move(0)
    return clock
  }

  private constructor(file: string) {
    this.#file = file
  }

  get environment(): Readonly<Record<string, string>> {
    return {
      LD_PRELOAD: LIBRARY ?? '',
      FAKETIME_TIMESTAMP_FILE: this.#file,
      // Looked at once a second; timers go by the other clock, which a set clock does not touch.
      FAKETIME_CACHE_DURATION: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
      // Made for shells that outlive each other; workers have environments of their own.
      FAKETIME_DISABLE_SHM: '1',
    }
  }

  /** So many seconds from the true time; below zero: before it. */
  async move(seconds: number): Promise<void> {
    await writeFile(`${this.#file}.new`, `${seconds < 0 ? '' : '+'}${seconds}\n`)
    await rename(`${this.#file}.new`, this.#file)
  }
}

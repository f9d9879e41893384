/** Removes versions that are too old or too many. Run from time to time. */
import { limits } from '../model/limits.ts'
import type { Settings } from '../model/resources.ts'
import type { Database } from '../store/database.ts'
import { removeOldVersions } from '../store/versions.ts'

interface VersionRetentionOptions {
  readonly db: Database
  /** As the settings have them at the moment. */
  readonly bounds: () => Settings['versions']
  readonly now: () => number
}

const dayMs = 86_400_000

export class VersionRetention {
  readonly #options: VersionRetentionOptions

  constructor(options: VersionRetentionOptions) {
    this.#options = options
  }

  /** Returns how many versions were removed. */
  run(): Promise<number> {
    const { db, bounds, now } = this.#options
    const { countMax, daysMax } = bounds()
    return removeOldVersions(db, {
      alwaysKept: limits.versionsAlwaysKept,
      countMax,
      createdBeforeMs: now() - daysMax * dayMs,
    })
  }
}

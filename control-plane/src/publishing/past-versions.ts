/** Tells whether what a node runs was published here, also after the numbers have gone past it. */

import type { Labels } from '../model/labels.ts'
import { limits } from '../model/limits.ts'
import type { Database } from '../store/database.ts'
import { countVersionsAfter } from '../store/versions.ts'
import type { PublishedVersion } from './published-version.ts'
import { loadHashes } from './version-records.ts'

export class PastVersions {
  readonly #db: Database
  /** The one that was asked for last: nodes that come back together mostly ran the same one. */
  #last:
    | { readonly number: number; readonly loading: Promise<PublishedVersion | undefined> }
    | undefined

  constructor(db: Database) {
    this.#db = db
  }

  /** Whether a node with these labels got this of a version. True where the version may be forgotten. */
  async hasPublished(number: number, hash: string, labels: Labels): Promise<boolean> {
    const version = await this.#find(number)
    if (version !== undefined) return version.viewFor(labels).hash === hash
    return (await countVersionsAfter(this.#db, number)) >= limits.versionsAlwaysKept
  }

  async #find(number: number): Promise<PublishedVersion | undefined> {
    if (this.#last?.number !== number) {
      this.#last = { number, loading: loadHashes(this.#db, number) }
    }
    const { loading } = this.#last
    try {
      const version = await loading
      if (version === undefined) this.#last = undefined
      return version
    } catch (error) {
      this.#last = undefined
      throw error
    }
  }
}

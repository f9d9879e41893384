/**
 * Records what nodes applied, all that answered within a moment in one statement: with a statement for each of
 * a thousand nodes, a write of the admin API would wait behind them.
 */
import type { Database } from '../store/database.ts'
import { type AppliedVersion, recordApplied } from '../store/nodes.ts'

const gatherMs = 20

export class AppliedAnswers {
  readonly #db: Database
  #gathering: { readonly answers: AppliedVersion[]; readonly stored: Promise<void> } | undefined

  constructor(db: Database) {
    this.#db = db
  }

  /** Resolves when it is stored. A node has one answer under way at most. */
  record(answer: AppliedVersion): Promise<void> {
    this.#gathering ??= this.#gather()
    this.#gathering.answers.push(answer)
    return this.#gathering.stored
  }

  #gather() {
    const answers: AppliedVersion[] = []
    const stored = new Promise<void>((resolve) => setTimeout(resolve, gatherMs)).then(() => {
      this.#gathering = undefined
      return recordApplied(this.#db, answers)
    })
    return { answers, stored }
  }
}

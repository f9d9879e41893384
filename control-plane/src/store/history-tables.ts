/** The rows of the tables that 003-history and 005-stages add. */

export interface HistoryTables {
  draft: DraftTable
  draft_change: DraftChangeTable
  idempotency_key: IdempotencyKeyTable
  stage: StageTable
}

/** Changes that are gathered to be published as one version. */
export interface DraftTable {
  name: string
  author: string
  /** The newest version when the draft was begun; 0: there was none. */
  base_version: number
  created_at_ms: number
  updated_at_ms: number
}

/** What a draft makes of one resource. Bodies are JSON as in ResourceTable. */
export interface DraftChangeTable {
  draft: string
  kind: string
  name: string
  /** The published resource that the change was made to; null: there was none. */
  base: string | null
  /** null: the resource is removed. */
  body: string | null
  updated_at_ms: number
}

/** A create that was asked for under a key, and how it was answered. */
export interface IdempotencyKeyTable {
  key: string
  /** SHA-256 of method, path and body. */
  fingerprint: Uint8Array
  /** null: it was done, but the program ended before the answer was known. */
  status: number | null
  /** JSON object of those that an answer repeats. */
  headers: string | null
  /** Sealed by the vault, base64: there are join tokens among them. */
  body: string | null
  created_at_ms: number
}

/** A version that some nodes get before the others. */
export interface StageTable {
  version: number
  /** What the others run meanwhile. */
  base_version: number
  author: string
  /** JSON of a StagePlan. */
  plan: string
  state: 'running' | 'paused' | 'promoted' | 'withdrawn'
  /** Why it is in this state. */
  reason: string
  started_at_ms: number
  ended_at_ms: number | null
}

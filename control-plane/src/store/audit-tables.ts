/** The rows of the tables that 008-audit makes. */
export interface AuditTables {
  audit: AuditTable
  audit_start: AuditStartTable
}

export interface AuditTable {
  /** One more than that of the row before. */
  number: number
  time_ms: number
  who: string
  via: string
  address: string
  action: string
  object: string
  /** JSON. */
  changes: string
  result: 'done' | 'refused' | 'failed'
  /** SHA-256 over the hash of the row before and this row. */
  hash: Uint8Array
}

/** One row: the newest row that was removed, or number 0 and a hash of zeros. */
export interface AuditStartTable {
  id: 1
  number: number
  hash: Uint8Array
}

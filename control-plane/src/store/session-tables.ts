/** The rows of the table that 006-sessions makes. */
export interface SessionTables {
  session: SessionTable
}

export interface SessionTable {
  /** SHA-256 of the secret in the cookie: the secret itself is never stored. */
  secret_hash: Uint8Array
  created_at_ms: number
  expires_at_ms: number
}

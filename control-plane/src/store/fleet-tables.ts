/** The rows of the tables that 002-fleet makes, 004-delivery and 011-accepted-history extend. */
import type { Generated } from 'kysely'

export interface FleetTables {
  authority: AuthorityTable
  join_token: JoinTokenTable
  node: NodeTable
  version_seen: VersionSeenTable
  history_accepted: HistoryAcceptedTable
}

/** There is at most one row. */
export interface VersionSeenTable {
  id: 1
  number: number
}

/** There is at most one row. */
export interface HistoryAcceptedTable {
  id: 1
  until_version: number
}

/** The internal CA; there is one row. */
export interface AuthorityTable {
  id: 1
  certificate_pem: string
  /** PKCS #8, sealed by the vault. */
  sealed_key: Uint8Array
  created_at_ms: number
}

export interface JoinTokenTable {
  id: string
  /** SHA-256 of the token's secret part: the token itself is never stored. */
  secret_hash: Uint8Array
  /** JSON object of strings. */
  labels: string
  uses_total: number
  uses_left: number
  created_at_ms: number
  expires_at_ms: number
}

export interface NodeTable {
  id: string
  name: string
  /** JSON object of strings. */
  labels: string
  enrolled_at_ms: number
  revoked_at_ms: number | null
  /** SHA-256 of the current node certificate's DER, hex. */
  fingerprint: string
  /** The certificate before it, accepted until the current one was seen. */
  previous_fingerprint: string | null
  certificate_expires_at_ms: number
  connected_at_ms: number | null
  last_seen_at_ms: number | null
  address: Generated<string>
  boot_id: Generated<string>
  software_version: Generated<string>
  /** JSON array of strings. */
  features: Generated<string>
  workers: Generated<number>
  /** What the node runs; 0 and empty: nothing. */
  version: Generated<number>
  hash: Generated<string>
  applied_at_ms: number | null
  took_ms: number | null
  /** The last version that the node refused and has not got past. */
  rejected_version: number | null
  rejected_hash: string | null
  rejected_at_ms: number | null
  /** JSON array of {kind, name, field, reason}. */
  rejected_problems: string | null
  /** An operator wants it to take no new connections. */
  is_draining: Generated<0 | 1>
}

/** The rows of the tables that 001-configuration makes. */
import type { ColumnType } from 'kysely'

export interface ConfigurationTables {
  version: VersionTable
  resource: ResourceTable
  private_key: PrivateKeyTable
}

/** One published version. Rows are written once and never changed. */
export interface VersionTable {
  number: number
  /** As sluice.v1 Update.hash. */
  hash: string
  author: string
  message: string
  created_at_ms: number
  is_empty_on_purpose: 0 | 1
  entry_points: number
  routers: number
  services: number
  certificates: number
}

/**
 * One state of one resource, from the version that brought it to the one that replaced or removed it.
 * A publish therefore writes only what it changed, and version N is the rows with
 * since_version <= N and (until_version is null or until_version > N).
 */
export interface ResourceTable {
  kind: string
  name: string
  since_version: number
  /** The first version without this state; null: it is current. */
  until_version: ColumnType<number | null, null, number>
  revision: number
  /** JSON in the API's shape. Never holds a private key, only its id. */
  body: string
  /** SHA-256 of the encoded sluice.v1 Resource. */
  digest: Uint8Array
  created_at_ms: number
  updated_at_ms: number
}

/** A site's private key, sealed by the vault with the id as context. */
export interface PrivateKeyTable {
  /** SHA-256 of the public key's SPKI, hex. */
  public_key_id: string
  sealed: Uint8Array
  created_at_ms: number
}

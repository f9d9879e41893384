/** The rows of the tables that 007-people makes. */
export interface PeopleTables {
  user: UserTable
  session: SessionTable
  api_token: ApiTokenTable
  second_factor: SecondFactorTable
  recovery_code: RecoveryCodeTable
}

export interface UserTable {
  name: string
  role: 'admin' | 'editor' | 'viewer'
  /** As people/passwords.ts writes it. */
  password: string
  is_disabled: 0 | 1
  created_at_ms: number
  password_changed_at_ms: number
}

export interface SessionTable {
  /** SHA-256 of the secret in the cookie: the secret itself is never stored. */
  secret_hash: Uint8Array
  /** What the session is called in lists. */
  id: string
  /** Null: whoever signed in has the admin token. */
  user: string | null
  /** Of the browser that signed in. */
  address: string
  created_at_ms: number
  used_at_ms: number
  expires_at_ms: number
}

export interface ApiTokenTable {
  name: string
  /** SHA-256 of the token: the token itself is never stored. */
  secret_hash: Uint8Array
  role: 'admin' | 'editor' | 'viewer'
  /** JSON; null: everything that the role may. */
  scopes: string | null
  /** Who made it. */
  author: string
  created_at_ms: number
  expires_at_ms: number | null
  used_at_ms: number | null
}

export interface SecondFactorTable {
  user: string
  /** The secret, sealed by the vault with "second-factor NAME" as context. */
  sealed: Uint8Array
  /** The number of the 30 s whose code was used last. */
  used_step: number
}

/** A code that was not used yet. */
export interface RecoveryCodeTable {
  user: string
  /** SHA-256. */
  code_hash: Uint8Array
}

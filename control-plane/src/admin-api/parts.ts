/** What the admin API is an interface to. Made by control-plane.ts. */
import type { Logger } from 'pino'
import type { HistoryGuard } from '../fleet/history-guard.ts'
import type { JoinTokens } from '../fleet/join-tokens.ts'
import type { LogRaises } from '../fleet/log-raises.ts'
import type { NodeRegistry } from '../fleet/node-registry.ts'
import type { StageWatch } from '../fleet/stage-watch.ts'
import type { ApiTokens } from '../people/api-tokens.ts'
import type { AuditLog } from '../people/audit-log.ts'
import type { SecondFactors } from '../people/second-factors.ts'
import type { Sessions } from '../people/sessions.ts'
import type { SignInThrottle } from '../people/sign-in-throttle.ts'
import type { Users } from '../people/users.ts'
import type { Drafts } from '../publishing/drafts.ts'
import type { Publisher } from '../publishing/publisher.ts'
import type { VersionArchive } from '../publishing/version-archive.ts'
import type { Database } from '../store/database.ts'
import type { Vault } from '../store/vault.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'
import type { ConfigurationWriter } from './configuration-writer.ts'
import type { IdempotencyKeys } from './idempotency.ts'

export interface AdminApiOptions {
  readonly adminToken: string
  /** For what the API itself remembers. */
  readonly db: Database
  /** Seals what is secret of it. */
  readonly vault: Vault
  readonly publisher: Publisher
  readonly drafts: Drafts
  readonly archive: VersionArchive
  readonly nodes: NodeRegistry
  readonly history: HistoryGuard
  readonly stages: StageWatch
  readonly logRaises: LogRaises
  readonly joinTokens: JoinTokens
  readonly telemetry: Telemetry
  readonly users: Users
  readonly secondFactors: SecondFactors
  readonly audit: AuditLog
  /** Undefined: the master key is not in a file that we may write. */
  readonly rotateMasterKey: () => Promise<Rotation | undefined>
  readonly softwareVersion: string
  readonly now: () => number
  readonly log: Logger
}

/** What route files get. */
export interface AdminApiParts
  extends Omit<AdminApiOptions, 'adminToken' | 'log' | 'db' | 'vault'> {
  readonly keys: IdempotencyKeys
  readonly writer: ConfigurationWriter
  readonly sessions: Sessions
  readonly apiTokens: ApiTokens
  readonly throttle: SignInThrottle
  readonly startedAtMs: number
}

/** Certificate chain and private key, PEM. */
export interface TlsIdentity {
  readonly cert: string
  readonly key: string
}

/** Of the master key; a key's id is made of its hash. */
export interface Rotation {
  readonly keyId: string
  readonly previousKeyId: string
  /** Values that were sealed anew. */
  readonly resealed: number
}

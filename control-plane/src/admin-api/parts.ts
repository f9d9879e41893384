/** What the admin API is an interface to. Made by control-plane.ts. */
import type { Logger } from 'pino'
import type { HistoryGuard } from '../fleet/history-guard.ts'
import type { JoinTokens } from '../fleet/join-tokens.ts'
import type { NodeRegistry } from '../fleet/node-registry.ts'
import type { Publisher } from '../publishing/publisher.ts'
import type { VersionArchive } from '../publishing/version-archive.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'
import type { ConfigurationWriter } from './configuration-writer.ts'

export interface AdminApiOptions {
  readonly adminToken: string
  readonly publisher: Publisher
  readonly archive: VersionArchive
  readonly nodes: NodeRegistry
  readonly history: HistoryGuard
  readonly joinTokens: JoinTokens
  readonly telemetry: Telemetry
  readonly softwareVersion: string
  readonly now: () => number
  readonly log: Logger
}

/** What route files get. */
export interface AdminApiParts extends Omit<AdminApiOptions, 'adminToken' | 'log'> {
  readonly writer: ConfigurationWriter
  readonly startedAtMs: number
}

/** The rows of the tables that 001-telemetry makes. */
import type { Generated } from 'kysely'

export interface TelemetryTables {
  batch: BatchTable
  traffic: TrafficTable
  log: LogTable
}

/** The last stored batch of a node's boot: what makes every batch count exactly once. */
export interface BatchTable {
  node: string
  boot_id: string
  kind: 'counters' | 'logs'
  sequence: number
  stored_at_ms: number
}

/** Traffic of one minute, node, router and service. */
export interface TrafficTable {
  minute_ms: number
  node: string
  router: string
  service: string
  informational: number
  success: number
  redirection: number
  client_error: number
  server_error: number
  none: number
  bytes_in: number
  bytes_out: number
  /** As telemetry/histogram.ts packs it. */
  latency: Uint8Array
}

/** One kept request. */
export interface LogTable {
  id: Generated<number>
  time_ms: number
  node: string
  router: string
  service: string
  server: string
  entry_point: string
  client_address: string
  method: string
  host: string
  path: string
  protocol: string
  status: number
  outcome: string
  bytes_in: number
  bytes_out: number
  duration_us: number
  first_byte_us: number
  attempts: number
  user_agent: string
  weight: number
}

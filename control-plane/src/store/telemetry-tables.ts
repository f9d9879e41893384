/** The rows of the tables that the migrations of telemetry.db make. */
import type { Generated } from 'kysely'

export interface TelemetryTables {
  batch: BatchTable
  traffic: TrafficTable
  rollup: RollupTable
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

/** What is counted of the exchanges of a row. */
export interface Measures {
  informational: number
  success: number
  redirection: number
  client_error: number
  server_error: number
  none: number
  bytes_in: number
  bytes_out: number
  retries: number
  /** As telemetry/histogram.ts packs it. */
  latency: Uint8Array
  first_byte: Uint8Array
  /** Counts by the codes of sluice.v1 Breakdown, packed like a histogram with the sum 0. */
  breakdown: Uint8Array
}

/** Traffic of one minute, node, router and service. */
export interface TrafficTable extends Measures {
  minute_ms: number
  node: string
  router: string
  service: string
}

/** Traffic of one minute, hour or day by what its cube keeps apart; other names are empty. */
export interface RollupTable extends Measures {
  cube: number
  level_ms: number
  start_ms: number
  node: string
  router: string
  service: string
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
  country: string
  query: string
  referrer: string
  request_id: string
  tls_version: string
}

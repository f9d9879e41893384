/**
 * The messages between the supervisor and a worker, and what a report holds. Both sides import this file
 * and nothing else of each other. Sent with `serialization: 'advanced'`, so bytes travel as Uint8Array.
 */
import type { LogLine, Problem, ResourceKey } from '@sluice/proto'
import type { PackedTraffic } from './packed-traffic.ts'

export type SupervisorMessage =
  | Configure
  /** Comes with a TCP handle to accept from; the one before of the same entry point is drained. */
  | { readonly kind: 'listen'; readonly entryPoint: string }
  /**
   * Comes with another copy of the handle that it listens on. libuv takes one connection from each copy in a
   * turn of the event loop, and a turn of a worker with many busy connections is long.
   */
  | { readonly kind: 'listenMore'; readonly entryPoint: string }
  /** The worker closes its copies of the entry point's handle and drains the connections that it took. */
  | { readonly kind: 'unlisten'; readonly entryPoint: string }
  /** Of TLS session tickets, newest first; sent before it listens, and when they change. */
  | { readonly kind: 'ticketKeys'; readonly keys: readonly Uint8Array[] }
  /** Lines that are kept in any second, where the version's setting is lower. */
  | { readonly kind: 'logRaise'; readonly linesPerSecond: number }
  /** Stop accepting, finish exchanges, exit 0 when none is left or `graceMs` have passed. */
  | { readonly kind: 'drain'; readonly graceMs: number }

/** A version: the whole of it, or what differs from the last one that the worker applied. */
export interface Configure {
  readonly kind: 'configure'
  readonly version: bigint
  readonly hash: string
  /** What the applied version has and this one has not. */
  readonly removed: readonly ResourceKey[]
  /** What is new or another: encoded sluice.v1 Resource messages, as they came from the control plane. */
  readonly resources: readonly Uint8Array[]
}

/** Its name, the key of its MAC and the key of its cipher, 16 bytes each. */
export const TICKET_KEY_BYTES = 48

export type WorkerMessage =
  /** Sent once, when the worker can take messages. */
  | { readonly kind: 'started' }
  | { readonly kind: 'applied'; readonly version: bigint }
  | { readonly kind: 'rejected'; readonly version: bigint; readonly problems: readonly Problem[] }
  | { readonly kind: 'listening'; readonly entryPoint: string }
  | WorkerReport
  /** For the node's log. */
  | { readonly kind: 'notice'; readonly notice: Notice }
  /** The last message of a worker that drained; its final report came before it. */
  | { readonly kind: 'drained' }

export interface Notice {
  readonly level: 'info' | 'warn'
  readonly text: string
  readonly fields: Readonly<Record<string, string | number>>
}

/** What happened since the report before. Sent at each whole second of the wall clock, and at the end. */
export interface WorkerReport {
  readonly kind: 'report'
  /** Rows of the routers and services that had traffic; one row per minute, router and service. */
  readonly traffic: PackedTraffic
  readonly logs: LogSample
  readonly gauges: WorkerGauges
  readonly draining: readonly DrainCount[]
  /** The first of them, as far as the limit goes. */
  readonly unhealthy: readonly UnhealthyServer[]
}

/** A server that fails the health check of a service. */
export interface UnhealthyServer {
  readonly service: string
  /** HOST:PORT; what is configured by name has its name here for each of its addresses. */
  readonly server: string
}

/** What is still open of a router or server that gets no new exchanges. */
export interface DrainCount {
  readonly kind: 'router' | 'service'
  readonly name: string
  /** Of the server, as it is configured; empty for a router. */
  readonly serverUrl: string
  readonly exchangesOpen: number
}

export interface TrafficDelta {
  /** Milliseconds since the epoch, a whole minute. */
  readonly minuteMs: number
  readonly router: string
  readonly service: string
  /** By STATUS_CLASSES. */
  readonly requests: Float64Array
  readonly bytesIn: number
  readonly bytesOut: number
  /** Pairs of bucket index and count, ascending; buckets as in sluice.v1 Histogram. */
  readonly latency: Uint32Array
  readonly latencySumUs: number
  /** Like `latency`, until the first byte of a server's answer; of exchanges that had one. */
  readonly firstByte: Uint32Array
  readonly firstByteSumUs: number
  /** Pairs of code and count, ascending; codes as in sluice.v1 Breakdown. */
  readonly breakdown: Uint32Array
  /** Attempts after the first of an exchange. */
  readonly retries: number
}

export const STATUS_CLASSES = [
  'informational',
  'success',
  'redirection',
  'clientError',
  'serverError',
  'none',
] as const

/**
 * A uniform sample of one second's exchanges, in two classes. Each list is a reservoir of at most the
 * node's cap; `seen` counts all exchanges of the class, so the supervisor can merge the samples of all
 * workers without bias and only then set the weights.
 */
export interface LogSample {
  /** Milliseconds since the epoch, the whole second that ended. */
  readonly secondMs: number
  readonly ordinary: ClassSample
  /** Failures (5xx, upstream failures and time-outs, client left) and slow exchanges. */
  readonly notable: ClassSample
}

export interface ClassSample {
  readonly seen: number
  /** Weight 0 until the supervisor sets it. */
  readonly lines: readonly LogLine[]
}

/** Totals since the worker started, and what is open now. accepted = closed + open, at any time. */
export interface WorkerGauges {
  readonly connectionsAccepted: number
  readonly connectionsClosed: number
  readonly connectionsOpen: number
  readonly exchangesStarted: number
  readonly exchangesEnded: number
  readonly exchangesOpen: number
  /** For a connection to a server; they are open too. */
  readonly exchangesWaiting: number
  /** Refused since the queue was full or the wait too long; they have ended too. */
  readonly exchangesShed: number
  readonly upstreamConnectionsOpen: number
  readonly upstreamConnectionsIdle: number
  /** Names of servers whose last lookup gave no address. */
  readonly namesFailing: number
  readonly nameLookupsFailed: number
  /** Servers with a health check, by service. */
  readonly serversHealthy: number
  readonly serversUnhealthy: number
  /** connections refused since a limit was reached */
  readonly connectionsShed: number
  /** connections closed since their PROXY protocol header was malformed, too long or late */
  readonly proxyHeadersRefused: number
}

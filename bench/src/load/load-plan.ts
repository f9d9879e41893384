/** What the load generator is asked to do, and what it saw. One process runs one plan: JSON in, JSON out. */

export interface LoadRequest {
  readonly method: 'GET' | 'POST'
  /** Path and query. */
  readonly path: string
  readonly host: string
  readonly fields?: Readonly<Record<string, string>>
  readonly body?: string
  /** Index into `targets`. */
  readonly target?: number
}

export interface LoadTarget {
  readonly address: string
  readonly port: number
  readonly tls?: { readonly serverName: string; readonly authorityFile: string }
}

/** The warm-up comes before its seconds, at its first rate. */
export type Schedule =
  | { readonly kind: 'constant'; readonly perSecond: number; readonly seconds: number }
  | {
      readonly kind: 'ramp'
      readonly fromPerSecond: number
      readonly toPerSecond: number
      readonly seconds: number
    }
  /** As fast as the connections allow, with the next request of a connection after its answer. */
  | { readonly kind: 'closed'; readonly seconds: number }

export interface LoadPlan {
  readonly targets: readonly LoadTarget[]
  /** Taken in turn, or at random with `seed`. */
  readonly requests: readonly LoadRequest[]
  readonly connections: number
  readonly schedule: Schedule
  readonly warmUpSeconds: number
  readonly pace: 'tick' | 'wait' | 'spin'
  /** shared: the next free connection; static: request n belongs to connection n mod C. */
  readonly assign: 'shared' | 'static'
  /** A request that is later than this is not sent, and counted as shed. 0: none. */
  readonly deadlineMs: number
  /** From the moment a request is written to its whole answer. */
  readonly timeoutMs: number
  readonly isConnectionPerRequest: boolean
  readonly expected: {
    readonly status: number
    readonly bodyBytes?: number
    /** A body is this text over and over; compared on every 100th answer. */
    readonly bodyPattern?: string
  }
  /** Of loopback; more than one where one has too few ports. */
  readonly sourceAddresses: readonly string[]
  readonly seed?: number
}

/** In µs. `encoded` is the whole histogram, HdrHistogram V2, base64. */
export interface LatencySummary {
  readonly count: number
  readonly mean: number
  readonly p50: number
  readonly p75: number
  readonly p90: number
  readonly p95: number
  readonly p99: number
  readonly p999: number
  readonly max: number
  /** The greatest value reached the top of the range: percentiles are floors. */
  readonly isSaturated: boolean
  readonly encoded: string
}

/** service: answered − written; release: answered − released by the pacer; schedule: answered − due. */
export type Clock = 'service' | 'release' | 'schedule'

export interface LoadErrors {
  readonly connect: number
  readonly read: number
  readonly write: number
  readonly timeout: number
  /** An answer whose body is not what was expected. */
  readonly wrong: number
}

/** One second of a run; the names of zrk's rows. Latency is that of the schedule. */
export interface LoadWindow {
  /** Seconds since the warm-up, at the window's end. What came after the schedule is one more window. */
  readonly t: number
  /** Offered per second at the window's end, and in its middle. */
  readonly target_rate: number
  readonly offered_rate: number
  /** Answers of any kind per second; answers of the expected status and length per second. */
  readonly achieved_rate: number
  readonly ok_rate: number
  readonly requests: number
  readonly errors: number
  readonly shed: number
  readonly bytes: number
  readonly bytes_per_sec: number
  readonly latency_us: {
    readonly p50: number
    readonly p90: number
    readonly p99: number
    readonly p99_9: number
    readonly max: number
  }
  readonly latency_histogram: string
  readonly lag_us: { readonly p50: number; readonly p99: number }
}

/** scheduled = ok + other statuses + errors + shed + unsent, with the warm-up left out of all of them. */
export interface LoadResult {
  /** Since the epoch, when the warm-up ended. */
  readonly startedAtMs: number
  /** From the warm-up to the schedule's end, or to where it was interrupted. */
  readonly seconds: number
  readonly isInterrupted: boolean
  readonly scheduled: number
  readonly ok: number
  /** Answers by status that were not the expected one. */
  readonly otherStatuses: Readonly<Record<string, number>>
  /** Answers of any kind with those of the warm-up: what a proxy's CPU time and an origin's counter cover. */
  readonly answeredInAll: number
  readonly errors: LoadErrors
  readonly shed: number
  readonly unsent: number
  readonly bytes: number
  readonly latency: Readonly<Record<Clock, LatencySummary>>
  /** Released − due. */
  readonly lag: LatencySummary
  /**
   * Starts per occupied millisecond ÷ (rate ÷ 1000, at least 1); and milliseconds by how many starts they
   * had, the last entry for that many or more.
   */
  readonly burstIndex: number
  readonly startsPerMs: readonly number[]
  /** Mean of the slowest share of service times, in µs, as rewrk prints it under a percentile's name. */
  readonly tailMeans: Readonly<Record<'p50' | 'p75' | 'p90' | 'p95' | 'p99' | 'p999', number>>
  /** Attempts to connect that failed at this end, warm-up included: EADDRNOTAVAIL; EMFILE and ENFILE. */
  readonly exhausted: { readonly ports: number; readonly files: number }
  readonly connectionsOpened: number
  readonly handshakes: { readonly full: number; readonly resumed: number }
  readonly processorNs: number
  readonly windows: readonly LoadWindow[]
}

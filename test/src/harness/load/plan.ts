/** What a load client does and what it found, as sent between the test and the client's process. */

export interface LoadPlan {
  readonly port: number
  readonly host: string
  /** Keep-alive connections, each with one request at a time. */
  readonly connections: number
  /** `small` asks GET `path`; `mixed` also downloads and echoes bodies of 1 byte to 8 MB. */
  readonly work: 'small' | 'mixed'
  readonly path?: string
  /** `small` expects this text as the body of each answer. */
  readonly expected?: string
  /** Over all connections together; left out: as fast as answers come. */
  readonly requestsPerSecondMax?: number
  /** The connections end after so many requests, all together. */
  readonly requestsMax?: number
  /** PEM; given: HTTPS. */
  readonly ca?: string
}

export interface LoadResult {
  /** Requests that were begun; each is in exactly one of the next two. */
  readonly sent: number
  readonly succeeded: number
  readonly failed: number
  /** The first failures in words. */
  readonly failures: readonly string[]
  readonly bytes: number
  readonly connectionsOpened: number
}

export type LoadCommand =
  | { readonly kind: 'start'; readonly plan: LoadPlan }
  | { readonly kind: 'stop' }

export type LoadEvent =
  | { readonly kind: 'progress'; readonly sent: number; readonly failed: number }
  | { readonly kind: 'result'; readonly result: LoadResult }

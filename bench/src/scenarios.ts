/** What is measured, and what is to be reached: shares of nginx's cost in the same rounds. */

/** The only name that is asked for. It is in the URL too, since wrk sends the URL's name as the TLS server name. */
export const HOST = 'localhost'
export const CONNECTIONS = 64

export interface Target {
  readonly must: number
  readonly aim: number
}

export interface Scenario {
  readonly key: ScenarioKey
  readonly title: string
  readonly protocol: Protocol
  readonly file: OriginFile
  /** Each request opens a connection of its own. */
  readonly isNewConnection: boolean
  /** Requests per second; otherwise as many as the proxy answers. */
  readonly perSecond?: number
  readonly cpu: Target
  readonly p99?: Target
}

export type Protocol = 'http' | 'https'
export type OriginFile = '1k' | '64k'
export type ScenarioKey = 'http1k' | 'https1k' | 'http64k' | 'httpnew' | 'httpsnew' | 'steady5k'

export const BODY_BYTES: Readonly<Record<OriginFile, number>> = { '1k': 1_024, '64k': 65_536 }

export const SCENARIOS: readonly Scenario[] = [
  {
    key: 'http1k',
    title: 'HTTP keep-alive, 1 KiB',
    protocol: 'http',
    file: '1k',
    isNewConnection: false,
    cpu: { must: 1.25, aim: 1 },
  },
  {
    key: 'https1k',
    title: 'HTTPS keep-alive, 1 KiB',
    protocol: 'https',
    file: '1k',
    isNewConnection: false,
    cpu: { must: 1.35, aim: 1.05 },
  },
  {
    key: 'http64k',
    title: 'HTTP keep-alive, 64 KiB',
    protocol: 'http',
    file: '64k',
    isNewConnection: false,
    cpu: { must: 1, aim: 0.8 },
  },
  {
    key: 'httpnew',
    title: 'HTTP, new connection per request',
    protocol: 'http',
    file: '1k',
    isNewConnection: true,
    cpu: { must: 1.5, aim: 1.2 },
  },
  {
    key: 'httpsnew',
    title: 'HTTPS, new connection per request',
    protocol: 'https',
    file: '1k',
    isNewConnection: true,
    cpu: { must: 1.7, aim: 1.3 },
  },
  {
    key: 'steady5k',
    title: 'HTTP, 1 KiB, steady 5,000/s',
    protocol: 'http',
    file: '1k',
    isNewConnection: false,
    perSecond: 5_000,
    cpu: { must: 1.4, aim: 1.1 },
    p99: { must: 1.3, aim: 1 },
  },
]

/** The admin API as a user's program sees it. `call` never throws for a status; the others do. */
import { Agent, request } from 'undici'

const CALL_MS = 10_000

export interface ApiAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly text: string
  /** The parsed body; undefined when there is none. */
  readonly body: unknown
}

export interface CallOptions {
  readonly body?: unknown
  /** Sent as it is, in place of `body`. */
  readonly bytes?: string | Uint8Array
  readonly headers?: Readonly<Record<string, string>>
}

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
export type Document = Readonly<Record<string, unknown>>

export class ApiClient {
  readonly origin: string
  readonly token: string
  // A connection per call: the control plane is killed and restarted under these tests.
  readonly #agent = new Agent({ pipelining: 0, connections: 32 })

  constructor(origin: string, token: string) {
    this.origin = origin
    this.token = token
  }

  async call(method: Method, path: string, options: CallOptions = {}): Promise<ApiAnswer> {
    const { body, bytes, headers } = options
    const content = bytes ?? (body === undefined ? undefined : JSON.stringify(body))
    const answer = await request(`${this.origin}${path}`, {
      method,
      dispatcher: this.#agent,
      headersTimeout: CALL_MS,
      bodyTimeout: CALL_MS,
      headers: {
        authorization: `Bearer ${this.token}`,
        ...(content === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      body: content ?? null,
    })
    const text = await answer.body.text()
    const isJson = /[/+]json\b/.test(String(answer.headers['content-type'] ?? ''))
    const parsed: unknown = isJson && text !== '' ? JSON.parse(text) : undefined
    return { status: answer.statusCode, headers: answer.headers, text, body: parsed }
  }

  get<T>(path: string): Promise<T> {
    return this.#expectOk<T>('GET', path)
  }

  post<T>(path: string, body?: unknown): Promise<T> {
    return this.#expectOk<T>('POST', path, body)
  }

  put<T>(path: string, body: unknown): Promise<T> {
    return this.#expectOk<T>('PUT', path, body)
  }

  delete(path: string): Promise<void> {
    return this.#expectOk<void>('DELETE', path)
  }

  apply(...resources: readonly Document[]): Promise<ApplyAnswer> {
    return this.#expectOk<ApplyAnswer>('POST', '/api/v1/apply', { resources })
  }

  close(): Promise<void> {
    return this.#agent.close()
  }

  // The type is what the API promises; a test that depends on a field asserts it.
  async #expectOk<T>(method: Method, path: string, body?: unknown): Promise<T> {
    const answer = await this.call(method, path, body === undefined ? {} : { body })
    if (answer.status >= 300) {
      throw new Error(`${method} ${path} was answered ${answer.status}: ${answer.text}`)
    }
    return answer.body as T
  }
}

export interface ApplyAnswer {
  readonly version: number
  readonly changes: readonly { kind: string; name: string; change: string }[]
  readonly warnings: readonly unknown[]
}

export interface NodeView {
  readonly id: string
  readonly name: string
  readonly state: 'in-sync' | 'updating' | 'rejected' | 'lost' | 'draining' | 'revoked'
  readonly isConnected: boolean
  readonly version: number | null
  readonly hash: string | null
  readonly appliedAt: string | null
  readonly rejected: null | { version: number; at: string; problems: readonly ProblemView[] }
  readonly labels: Readonly<Record<string, string>>
  readonly isCertificateExpired: boolean
  readonly clockOffsetMs: number | null
  readonly bootId: string
  readonly workers: number
}

export interface ProblemView {
  readonly kind: string
  readonly name: string
  readonly field: string
  readonly reason: string
}

export interface FleetStatus {
  readonly version: number
  readonly hash: string
  readonly nodes: Readonly<
    Record<'total' | 'connected' | 'inSync' | 'rejected' | 'lost' | 'revoked', number>
  >
}

export interface Page<T> {
  readonly items: readonly T[]
  readonly total: number
}

export interface Traffic {
  readonly series: readonly {
    readonly key: string
    readonly points: readonly {
      readonly time: string
      readonly requests: Readonly<Record<string, number>> & { readonly total: number }
      readonly bytesIn: number
      readonly bytesOut: number
      readonly latency: { readonly count: number }
    }[]
  }[]
}

export interface LogItem {
  readonly id: string
  readonly time: string
  readonly node: string
  readonly router: string
  readonly status: number
  readonly path: string
  readonly outcome: string
  readonly weight: number
}

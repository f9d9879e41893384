/** The only place that speaks HTTP: requests with the session's cookie, problems as errors. */

export interface Problem {
  readonly kind: string
  readonly name: string
  readonly field: string
  readonly reason: string
  readonly hint?: string
}

/** The API refused a request. */
export class ApiProblem extends Error {
  readonly status: number
  readonly problems: readonly Problem[]

  constructor(status: number, detail: string, problems: readonly Problem[]) {
    super(detail)
    this.status = status
    this.problems = problems
  }
}

export type Role = 'admin' | 'editor' | 'viewer'

export interface SessionState {
  /** Of the user; admin: whoever has the admin token. */
  readonly name: string
  readonly role: Role
  readonly csrfToken: string
  readonly expiresAt: string
}

const requestTimeoutMs = 20_000

interface Call {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'DELETE'
  readonly body?: unknown
  readonly csrfToken?: string
  readonly headers?: Readonly<Record<string, string>>
}

export async function call<T>(path: string, options: Call = {}): Promise<T> {
  const { method = 'GET', body, csrfToken, headers } = options
  const answer = await fetch(`/api/v1${path}`, {
    method,
    credentials: 'same-origin',
    signal: AbortSignal.timeout(requestTimeoutMs),
    headers: {
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(csrfToken === undefined ? {} : { 'x-sluice-csrf': csrfToken }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  const isJson = (answer.headers.get('content-type') ?? '').includes('json')
  const parsed: unknown = isJson && text !== '' ? JSON.parse(text) : text
  if (!answer.ok) throw toProblem(answer.status, parsed)
  // The API's document is the promise; contract tests hold the API to it.
  return parsed as T
}

function toProblem(status: number, body: unknown): ApiProblem {
  if (typeof body !== 'object' || body === null) return new ApiProblem(status, String(body), [])
  const { detail, problems } = body as { detail?: string; problems?: Problem[] }
  return new ApiProblem(status, detail ?? `the request was answered ${status}`, problems ?? [])
}

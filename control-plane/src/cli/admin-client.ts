/**
 * Speaks HTTP to the admin API and turns everything that is not a success into a CommandFailure. Knows
 * paths only as they are passed in; what the answers mean belongs to the commands.
 */
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { Agent, request } from 'undici'
import type { AccessToken } from './access-token.ts'
import {
  CommandFailure,
  exitCodes,
  messageOf,
  type ProblemDetail,
  RequestRefused,
} from './failures.ts'

const limits = Object.freeze({
  connectTimeoutMs: 5_000,
  /** Whole exchange: the largest apply validates and stores its configuration before it answers. */
  requestTimeoutMs: 60_000,
  /** As the admin API takes; beyond it the connection is closed while we still write. */
  requestBytesMax: 4 * 1024 * 1024,
  textBytesMax: 64 * 1024 * 1024,
  answerBytesMax: 256 * 1024 * 1024,
})

export interface Answer {
  readonly status: number
  /** The version that holds after a write; undefined for reads. */
  readonly version: string | undefined
  readonly entityTag: string | undefined
  readonly body: unknown
}

interface Sent {
  readonly body?: unknown
  /** In place of a body: content that is no JSON. */
  readonly text?: { readonly content: string; readonly type: string }
  readonly query?: Readonly<Record<string, string | undefined>>
  readonly headers?: Readonly<Record<string, string>>
}

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

export class AdminClient {
  readonly #base: URL
  readonly #accessToken: AccessToken
  readonly #agent: Agent

  /**
   * @param base as parseServer() answers it.
   * @param authorityPem what an https server is verified by; undefined: what Node trusts.
   */
  constructor(base: URL, accessToken: AccessToken, authorityPem?: string) {
    this.#base = base
    this.#accessToken = accessToken
    const trust = authorityPem === undefined ? {} : { ca: authorityPem }
    this.#agent = new Agent({
      connect: { timeout: limits.connectTimeoutMs, ...trust },
      maxResponseSize: limits.answerBytesMax,
    })
  }

  async get(path: string, query: Sent['query'] = {}): Promise<unknown> {
    return (await this.send('GET', path, { query })).body
  }

  async send(method: Method, path: string, sent: Sent = {}): Promise<Answer> {
    const url = this.#urlOf(path, sent.query)
    const json = sent.body === undefined ? null : JSON.stringify(sent.body)
    const content = sent.text?.content ?? json
    requireSize(content, sent.text === undefined ? limits.requestBytesMax : limits.textBytesMax)
    const type = content === null ? {} : { 'content-type': sent.text?.type ?? 'application/json' }
    const given = { ...type, ...sent.headers }
    const { status, headers, text } = await this.#exchange(method, url, content, given)
    const isYaml = headers['content-type'] === 'application/yaml'
    const body = isYaml ? text : parseJson(text)
    if (status >= 400) throw this.#refusal(status, body)
    if (status >= 300 || (text !== '' && body === undefined)) throw this.#notOurs(status)
    const version = headers['sluice-version']
    const { etag } = headers
    return {
      status,
      version: typeof version === 'string' ? version : undefined,
      entityTag: typeof etag === 'string' ? etag : undefined,
      body,
    }
  }

  /** The lines of an answer of any length, as they come. */
  async *lines(path: string, query: Sent['query'] = {}): AsyncGenerator<string> {
    const url = this.#urlOf(path, query)
    const answer = await this.#reaching(() =>
      request(url, {
        dispatcher: this.#agent,
        headers: { authorization: `Bearer ${this.#accessToken.token}` },
      }),
    )
    if (answer.statusCode >= 400) {
      throw this.#refusal(answer.statusCode, parseJson(await answer.body.text()))
    }
    if (answer.statusCode >= 300) throw this.#notOurs(answer.statusCode)
    // The reader ends with the body, and a body that breaks off throws like a control plane out of reach.
    const reader = createInterface({ input: answer.body, crlfDelay: Number.POSITIVE_INFINITY })
    const failed = new Promise<never>((_resolve, reject) => answer.body.once('error', reject))
    failed.catch(() => undefined)
    const lines = reader[Symbol.asyncIterator]()
    while (true) {
      const next = await this.#reaching(() => Promise.race([lines.next(), failed]))
      if (next.done === true) return
      yield next.value
    }
  }

  async close(): Promise<void> {
    await this.#agent.destroy()
  }

  #urlOf(path: string, query: Sent['query'] = {}): URL {
    const url = new URL(`api/v1/${path}`, this.#base)
    for (const [name, value] of Object.entries(query)) {
      if (value !== undefined) url.searchParams.set(name, value)
    }
    return url
  }

  async #exchange(
    method: Method,
    url: URL,
    content: string | null,
    given: Readonly<Record<string, string>>,
  ) {
    return this.#reaching(async () => {
      const answer = await request(url, {
        method,
        dispatcher: this.#agent,
        signal: AbortSignal.timeout(limits.requestTimeoutMs),
        headers: {
          authorization: `Bearer ${this.#accessToken.token}`,
          accept: 'application/json, application/problem+json',
          ...given,
        },
        body: content,
      })
      return {
        status: answer.statusCode,
        headers: answer.headers,
        text: await answer.body.text(),
      }
    })
  }

  async #reaching<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      throw new CommandFailure(
        exitCodes.unreachable,
        `cannot reach the control plane at ${this.#base.origin}: ${reasonOf(error)}`,
        { cause: error },
      )
    }
  }

  #refusal(status: number, body: unknown): CommandFailure {
    if (status === 401) {
      return new CommandFailure(
        exitCodes.refused,
        `the control plane at ${this.#base.origin} does not accept the token from ` +
          this.#accessToken.origin,
      )
    }
    if (!isObject(body) || typeof body.title !== 'string') return this.#notOurs(status)
    const { title, detail, problems } = body
    const summary = typeof detail === 'string' && detail !== '' ? detail : title
    return new RequestRefused(
      status,
      summary,
      Array.isArray(problems) ? problems.filter(isProblem) : [],
    )
  }

  #notOurs(status: number): CommandFailure {
    return new CommandFailure(
      exitCodes.unreachable,
      `what answers at ${this.#base.origin} is not a Sluice control plane (status ${status})`,
    )
  }
}

export function parseServer(server: string): URL {
  const url = URL.parse(server)
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw new CommandFailure(
      exitCodes.usage,
      `--server: "${server}" is not a URL like http://127.0.0.1:7400`,
    )
  }
  if (!url.pathname.endsWith('/')) url.pathname += '/'
  return url
}

/** The certificates of a file, PEM; undefined for none. */
export function readAuthority(file: string | undefined): string | undefined {
  if (file === undefined || file === '') return undefined
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new CommandFailure(exitCodes.usage, `cannot read ${file} (--ca): ${messageOf(error)}`)
  }
}

/** What Node says of a certificate that nothing it trusts has signed. */
const untrusted = new Set([
  'SELF_SIGNED_CERT_IN_CHAIN',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
])

function requireSize(content: string | null, bytesMax: number): void {
  const bytes = content === null ? 0 : Buffer.byteLength(content)
  if (bytes <= bytesMax) return
  const mebibytes = (bytes / 1024 / 1024).toFixed(1)
  throw new CommandFailure(
    exitCodes.refused,
    `${mebibytes} MiB are too much for one request; the control plane takes at most ${bytesMax / 1024 / 1024} MiB`,
  )
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // Told apart by the caller: an empty answer is fine, other text is not from our API.
    return undefined
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (error.name === 'TimeoutError') return `no answer within ${limits.requestTimeoutMs / 1000} s`
  // Node wraps the failures of several addresses in one AggregateError with an empty message.
  if (error instanceof AggregateError) return error.errors.map(messageOf).join(', ')
  if ('code' in error && untrusted.has(String(error.code))) {
    return 'its certificate is not trusted; name the one to trust with --ca, such as ca.pem of its data directory'
  }
  return error.message
}

function isProblem(value: unknown): value is ProblemDetail {
  return (
    isObject(value) &&
    ['kind', 'name', 'field', 'reason'].every((field) => typeof value[field] === 'string')
  )
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

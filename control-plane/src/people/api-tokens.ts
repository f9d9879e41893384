/** Tokens for programs. Only the hash of a token is kept, so what the database holds opens nothing. */
import { createHash, randomBytes } from 'node:crypto'
import { findLabelProblem } from '../model/labels.ts'
import { Refusal } from '../model/refusal.ts'
import {
  type ApiTokenRecord,
  findApiToken,
  insertApiToken,
  listApiTokens,
  removeApiToken,
  touchApiToken,
} from '../store/api-tokens.ts'
import type { Database } from '../store/database.ts'
import { peopleLimits } from './limits.ts'
import type { Principal, Role } from './principal.ts'
import type { Scope } from './scopes.ts'

export interface ApiTokenRequest {
  readonly name: string
  readonly role: Role
  /** Left out: everything that the role may. */
  readonly scopes?: readonly Scope[]
  /** Left out: it does not expire. */
  readonly expiresInSeconds?: number
}

export interface ApiToken {
  readonly name: string
  readonly role: Role
  readonly scopes: readonly Scope[] | null
  readonly author: string
  readonly createdAt: string
  readonly expiresAt: string | null
  readonly usedAt: string | null
}

const secretBytes = 32
const tokenPattern = /^sluice_[A-Za-z0-9_-]{43}$/

export class ApiTokens {
  readonly #db: Database
  readonly #now: () => number

  constructor(options: { readonly db: Database; readonly now: () => number }) {
    this.#db = options.db
    this.#now = options.now
  }

  async list(): Promise<ApiToken[]> {
    return (await listApiTokens(this.#db)).map(toView)
  }

  /** `token` is shown this once. */
  async create(
    { name, role, scopes, expiresInSeconds }: ApiTokenRequest,
    author: string,
  ): Promise<ApiToken & { readonly token: string }> {
    requireLabels(name, scopes ?? [])
    if ((await listApiTokens(this.#db)).length >= peopleLimits.apiTokensMax) {
      const detail = `there are ${peopleLimits.apiTokensMax} API tokens already; revoke some first`
      throw new Refusal('invalid', [], detail)
    }
    const token = `sluice_${randomBytes(secretBytes).toString('base64url')}`
    const nowMs = this.#now()
    const row: ApiTokenRecord = {
      name,
      secret_hash: hashOf(token),
      role,
      scopes: scopes === undefined ? null : JSON.stringify(scopes),
      author,
      created_at_ms: nowMs,
      expires_at_ms: expiresInSeconds === undefined ? null : nowMs + expiresInSeconds * 1_000,
      used_at_ms: null,
    }
    if (!(await insertApiToken(this.#db, row))) {
      throw new Refusal('name-taken', [{ kind: '', name, field: 'name', reason: 'is taken' }])
    }
    return { ...toView(row), token }
  }

  async revoke(name: string): Promise<void> {
    if (await removeApiToken(this.#db, name)) return
    throw new Refusal('not-found', [], `there is no API token "${name}"`)
  }

  /** Undefined: it is none, was revoked, or has expired. */
  async find(token: string): Promise<Principal | undefined> {
    if (!tokenPattern.test(token)) return undefined
    const row = await findApiToken(this.#db, hashOf(token))
    const nowMs = this.#now()
    if (row === undefined || (row.expires_at_ms ?? Number.POSITIVE_INFINITY) <= nowMs) {
      return undefined
    }
    if (nowMs - (row.used_at_ms ?? 0) >= peopleLimits.usedSavedMs) {
      await touchApiToken(this.#db, row.name, nowMs)
    }
    const scopes = readScopes(row.scopes)
    return {
      name: `token:${row.name}`,
      via: 'api-token',
      role: row.role,
      ...(scopes !== null && { scopes }),
    }
  }
}

function requireLabels(name: string, scopes: readonly Scope[]): void {
  const problems = scopes.flatMap(({ selector }, index) => {
    const reason = findLabelProblem(selector)
    const field = `scopes[${index}].selector`
    return reason === undefined ? [] : [{ kind: '' as const, name, field, reason }]
  })
  if (problems.length > 0) throw new Refusal('malformed', problems)
}

function hashOf(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}

function readScopes(text: string | null): readonly Scope[] | null {
  // The cast holds: only `create` writes the column.
  return text === null ? null : (JSON.parse(text) as readonly Scope[])
}

function toView(row: ApiTokenRecord): ApiToken {
  return {
    name: row.name,
    role: row.role,
    scopes: readScopes(row.scopes),
    author: row.author,
    createdAt: new Date(row.created_at_ms).toISOString(),
    expiresAt: timeOf(row.expires_at_ms),
    usedAt: timeOf(row.used_at_ms),
  }
}

function timeOf(timeMs: number | null): string | null {
  return timeMs === null ? null : new Date(timeMs).toISOString()
}

/**
 * Browsers that signed in. The cookie holds a random secret, the database its hash. The token against forged
 * requests is made of the secret, so a page of another origin, which can send the cookie but not read it, cannot
 * know it. What a session may do is what its user may do at the time of each request.
 */
import { createHash, randomBytes } from 'node:crypto'
import type { Database } from '../store/database.ts'
import {
  findSession,
  insertSession,
  listSessions,
  removeSession,
  type SessionRecord,
  touchSession,
} from '../store/sessions.ts'
import { peopleLimits } from './limits.ts'
import { ADMIN_NAME, type Principal } from './principal.ts'

export interface Session {
  readonly csrfToken: string
  readonly expiresAtMs: number
  readonly principal: Principal
}

export interface SessionView {
  readonly id: string
  readonly user: string
  readonly address: string
  readonly createdAt: string
  readonly usedAt: string
  readonly expiresAt: string
}

const secretBytes = 32
const secretPattern = /^[A-Za-z0-9_-]{43}$/

export class Sessions {
  readonly #db: Database
  readonly #adminToken: string
  readonly #now: () => number

  constructor(options: {
    readonly db: Database
    readonly adminToken: string
    readonly now: () => number
  }) {
    this.#db = options.db
    this.#adminToken = options.adminToken
    this.#now = options.now
  }

  /** Returns the secret of the cookie. `user` null: whoever has the admin token. */
  async open(user: string | null, address: string): Promise<string> {
    const secret = randomBytes(secretBytes).toString('base64url')
    const nowMs = this.#now()
    const row = {
      secret_hash: this.#hash(secret),
      id: randomBytes(6).toString('hex'),
      user,
      address,
      created_at_ms: nowMs,
      used_at_ms: nowMs,
      expires_at_ms: nowMs + peopleLimits.sessionAgeMs,
    }
    const { sessionsMax: countMax, sessionIdleMs: idleMs } = peopleLimits
    await insertSession(this.#db, row, { countMax, idleMs })
    return secret
  }

  /** Undefined: it is none, or has ended. */
  async find(secret: string | undefined): Promise<Session | undefined> {
    if (secret === undefined || !secretPattern.test(secret)) return undefined
    const hash = this.#hash(secret)
    const row = await findSession(this.#db, hash)
    if (row === undefined || this.#isOver(row) || row.is_disabled === 1) return undefined
    if (this.#now() - row.used_at_ms >= peopleLimits.usedSavedMs) {
      await touchSession(this.#db, hash, this.#now())
    }
    return {
      csrfToken: csrfTokenOf(secret),
      expiresAtMs: row.expires_at_ms,
      principal: {
        name: row.user ?? ADMIN_NAME,
        role: row.role ?? 'admin',
        via: 'session',
        sessionId: row.id,
      },
    }
  }

  async list(): Promise<SessionView[]> {
    const rows = await listSessions(this.#db)
    return rows.filter((row) => !this.#isOver(row)).map(toView)
  }

  async close(id: string): Promise<void> {
    await removeSession(this.#db, id)
  }

  #isOver({ expires_at_ms, used_at_ms }: SessionRecord): boolean {
    const nowMs = this.#now()
    return expires_at_ms <= nowMs || used_at_ms + peopleLimits.sessionIdleMs <= nowMs
  }

  // With the admin token in it: whoever replaces the token signs everybody out.
  #hash(secret: string): Buffer {
    const ofToken = createHash('sha256').update(this.#adminToken).digest()
    return createHash('sha256').update(secret).update(ofToken).digest()
  }
}

function csrfTokenOf(secret: string): string {
  return createHash('sha256').update('csrf ').update(secret).digest('base64url')
}

function toView(row: SessionRecord): SessionView {
  return {
    id: row.id,
    user: row.user ?? ADMIN_NAME,
    address: row.address,
    createdAt: new Date(row.created_at_ms).toISOString(),
    usedAt: new Date(row.used_at_ms).toISOString(),
    expiresAt: new Date(row.expires_at_ms).toISOString(),
  }
}

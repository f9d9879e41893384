/**
 * Browsers that signed in with the admin token. The cookie holds a random secret, the database its hash.
 * The token against forged requests is made of the secret, so a page of another origin, which can send the
 * cookie but not read it, cannot know it.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Database } from '../store/database.ts'
import { findSession, insertSession, removeSession } from '../store/sessions.ts'
import { digest } from './authentication.ts'
import { apiLimits } from './limits.ts'

export interface Session {
  readonly csrfToken: string
  readonly expiresAtMs: number
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

  /** Undefined: that is not the admin token. */
  async open(token: string): Promise<(Session & { readonly secret: string }) | undefined> {
    if (!timingSafeEqual(digest(token), digest(this.#adminToken))) return undefined
    const secret = randomBytes(secretBytes).toString('base64url')
    const expiresAtMs = this.#now() + apiLimits.sessionAgeMs
    const row = {
      secret_hash: this.#hash(secret),
      created_at_ms: this.#now(),
      expires_at_ms: expiresAtMs,
    }
    await insertSession(this.#db, row, apiLimits.sessionsMax)
    return { secret, csrfToken: csrfTokenOf(secret), expiresAtMs }
  }

  async find(secret: string | undefined): Promise<Session | undefined> {
    if (secret === undefined || !secretPattern.test(secret)) return undefined
    const row = await findSession(this.#db, this.#hash(secret))
    if (row === undefined || row.expires_at_ms <= this.#now()) return undefined
    return { csrfToken: csrfTokenOf(secret), expiresAtMs: row.expires_at_ms }
  }

  async close(secret: string | undefined): Promise<void> {
    if (secret !== undefined) await removeSession(this.#db, this.#hash(secret))
  }

  // With the admin token in it: whoever replaces the token signs everybody out.
  #hash(secret: string): Buffer {
    return createHash('sha256').update(secret).update(digest(this.#adminToken)).digest()
  }
}

function csrfTokenOf(secret: string): string {
  return createHash('sha256').update('csrf ').update(secret).digest('base64url')
}

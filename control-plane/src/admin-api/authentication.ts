/** Finds out who makes a request, by a token or the cookie of a session, and asks the rule of its route. */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { FastifyReply, FastifyRequest, onRequestAsyncHookHandler } from 'fastify'
import type { ApiTokens } from '../people/api-tokens.ts'
import { ADMIN_NAME, type Principal } from '../people/principal.ts'
import type { Sessions } from '../people/sessions.ts'
import { requireAllowed } from './access.ts'
import { ApiError } from './problem-details.ts'

export const SESSION_COOKIE = 'sluice_session'
const safeMethods = new Set(['GET', 'HEAD'])

const adminByToken: Principal = Object.freeze({
  name: ADMIN_NAME,
  via: 'admin-token',
  role: 'admin',
})

export class Authentication {
  readonly #adminToken: Buffer
  readonly #sessions: Sessions
  readonly #apiTokens: ApiTokens

  constructor(parts: {
    readonly adminToken: string
    readonly sessions: Sessions
    readonly apiTokens: ApiTokens
  }) {
    this.#adminToken = digest(parts.adminToken)
    this.#sessions = parts.sessions
    this.#apiTokens = parts.apiTokens
  }

  isAdminToken(token: string): boolean {
    return timingSafeEqual(digest(token), this.#adminToken)
  }

  readonly require: onRequestAsyncHookHandler = async (request, reply) => {
    const [, token] = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '') ?? []
    const principal =
      token === undefined ? await this.#ofSession(request) : await this.#ofToken(token)
    if (principal === undefined) refuse(reply, token !== undefined)
    request.principal = principal
    requireAllowed(request, principal)
  }

  async #ofToken(token: string): Promise<Principal | undefined> {
    return this.isAdminToken(token) ? adminByToken : this.#apiTokens.find(token)
  }

  /** A write with a session must also show the session's token, which only our own page can read. */
  async #ofSession(request: FastifyRequest): Promise<Principal | undefined> {
    const session = await this.#sessions.find(request.cookies[SESSION_COOKIE])
    if (session === undefined) return undefined
    const shown = request.headers['x-sluice-csrf']
    const isOurs =
      typeof shown === 'string' && timingSafeEqual(digest(shown), digest(session.csrfToken))
    if (!safeMethods.has(request.method) && !isOurs) {
      throw new ApiError(403, 'a write with a session needs its token in the header X-Sluice-Csrf')
    }
    return session.principal
  }
}

function refuse(reply: FastifyReply, hasToken: boolean): never {
  reply.header('www-authenticate', 'Bearer realm="sluice"')
  const detail = hasToken
    ? 'the token of the Authorization header is not known'
    : 'the request needs the header "Authorization: Bearer <token>"'
  throw new ApiError(401, detail)
}

// Digests have one length, so a comparison tells nothing about the token's own.
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

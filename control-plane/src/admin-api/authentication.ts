/** Lets requests with the admin token, or the cookie of a session, through. */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { FastifyReply, FastifyRequest, onRequestAsyncHookHandler } from 'fastify'
import { ApiError } from './problem-details.ts'
import type { Sessions } from './sessions.ts'

export const SESSION_COOKIE = 'sluice_session'
const safeMethods = new Set(['GET', 'HEAD'])

export function requireCredentials(
  adminToken: string,
  sessions: Sessions,
): onRequestAsyncHookHandler {
  const expected = digest(adminToken)
  return async (request, reply) => {
    const [, token] = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '') ?? []
    if (token !== undefined && timingSafeEqual(digest(token), expected)) return
    if (token === undefined && (await isSignedIn(request, sessions))) return
    refuse(reply, token !== undefined)
  }
}

/** A write with a session must also show the session's token, which only our own page can read. */
async function isSignedIn(request: FastifyRequest, sessions: Sessions): Promise<boolean> {
  const session = await sessions.find(request.cookies[SESSION_COOKIE])
  if (session === undefined) return false
  const shown = request.headers['x-sluice-csrf']
  const isOurs =
    typeof shown === 'string' && timingSafeEqual(digest(shown), digest(session.csrfToken))
  if (!safeMethods.has(request.method) && !isOurs) {
    throw new ApiError(403, 'a write with a session needs its token in the header X-Sluice-Csrf')
  }
  return true
}

function refuse(reply: FastifyReply, hasToken: boolean): never {
  reply.header('www-authenticate', 'Bearer realm="sluice"')
  const detail = hasToken
    ? 'the token of the Authorization header is not the admin token'
    : 'the request needs the header "Authorization: Bearer <admin token>"'
  throw new ApiError(401, detail)
}

// Digests have one length, so a comparison tells nothing about the token's own.
export function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

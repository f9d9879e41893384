/** Lets requests with the admin token through. */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { onRequestHookHandler } from 'fastify'
import { ApiError } from './problem-details.ts'

export function requireToken(adminToken: string): onRequestHookHandler {
  const expected = digest(adminToken)
  return (request, reply, done) => {
    const [, token] = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '') ?? []
    if (token !== undefined && timingSafeEqual(digest(token), expected)) {
      done()
      return
    }
    reply.header('www-authenticate', 'Bearer realm="sluice"')
    const detail =
      token === undefined
        ? 'the request needs the header "Authorization: Bearer <admin token>"'
        : 'the token of the Authorization header is not the admin token'
    done(new ApiError(401, detail))
  }
}

// Digests have one length, so the comparison tells nothing about the token's own.
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

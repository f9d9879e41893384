/** Signing in to the dashboard and out of it. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { SESSION_COOKIE } from './authentication.ts'
import type { AdminApiParts } from './parts.ts'
import { ApiError } from './problem-details.ts'
import { responses, Time } from './schemas.ts'
import type { Session, Sessions } from './sessions.ts'

const tags = ['session']
const cookiePath = '/api/'
const SessionAnswer = Type.Object(
  {
    csrfToken: Type.String({ description: 'goes into the header X-Sluice-Csrf of every write' }),
    expiresAt: Time,
  },
  { title: 'Session' },
)
const postSession = {
  tags,
  security: [],
  description: 'Signs a browser in: the answer sets a cookie that stands for the admin token.',
  body: Type.Object(
    { token: Type.String({ minLength: 1, maxLength: 1_024, description: 'the admin token' }) },
    { additionalProperties: false },
  ),
  response: responses({ 200: SessionAnswer }, 400, 401, 413, 415),
}
const getSession = { tags, response: responses({ 200: SessionAnswer }, 401, 404) }
const deleteSession = {
  tags,
  description: 'Signs the browser out.',
  response: responses({ 204: Type.Null({ description: 'signed out' }) }, 401),
}

/** Apart from the others, since it needs no credentials. */
export const signInRoute: FastifyPluginAsyncTypebox<{ sessions: Sessions }> = async (
  app,
  { sessions },
) => {
  app.post('/session', { schema: postSession }, async (request, reply) => {
    const session = await sessions.open(request.body.token)
    if (session === undefined) throw new ApiError(401, 'that is not the admin token')
    reply.header('cache-control', 'no-store').setCookie(SESSION_COOKIE, session.secret, {
      path: cookiePath,
      httpOnly: true,
      sameSite: 'lax',
      secure: isSecure(request),
      expires: new Date(session.expiresAtMs),
    })
    return present(session)
  })
}

export const sessionRoutes: FastifyPluginAsyncTypebox<AdminApiParts> = async (
  app,
  { sessions },
) => {
  app.get('/session', { schema: getSession }, async (request, reply) => {
    const session = await sessions.find(request.cookies[SESSION_COOKIE])
    if (session === undefined) throw new ApiError(404, 'the request comes without a session')
    reply.header('cache-control', 'no-store')
    return present(session)
  })
  app.delete('/session', { schema: deleteSession }, async (request, reply) => {
    await sessions.close(request.cookies[SESSION_COOKIE])
    reply.clearCookie(SESSION_COOKIE, { path: cookiePath }).code(204)
  })
}

function present({ csrfToken, expiresAtMs }: Session) {
  return { csrfToken, expiresAt: new Date(expiresAtMs).toISOString() }
}

// Behind a proxy that ends TLS. Whoever makes the field up harms only their own cookie.
function isSecure(request: FastifyRequest): boolean {
  return request.protocol === 'https' || request.headers['x-forwarded-proto'] === 'https'
}

/** Signing in to the dashboard and out of it, and who else is signed in. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { peopleLimits } from '../people/limits.ts'
import { ADMIN_NAME, isAtLeast, ROLES } from '../people/principal.ts'
import type { Session, Sessions } from '../people/sessions.ts'
import { principalOf } from './access.ts'
import { type Authentication, SESSION_COOKIE } from './authentication.ts'
import type { AdminApiParts } from './parts.ts'
import { ApiError } from './problem-details.ts'
import { pageOf, responses, Time } from './schemas.ts'
import { requireOwnPassword, type SignInParts, whoSignsIn } from './sign-in.ts'

const tags = ['session']
const cookiePath = '/api/'
const strict = { additionalProperties: false } as const
const SessionAnswer = Type.Object(
  {
    csrfToken: Type.String({ description: 'goes into the header X-Sluice-Csrf of every write' }),
    expiresAt: Time,
    name: Type.String({ description: 'of the user; admin: of the admin token' }),
    role: Type.Enum([...ROLES]),
  },
  { title: 'Session' },
)
const Secret = Type.String({ minLength: 1, maxLength: peopleLimits.passwordCharactersMax })
const SignIn = Type.Object(
  {
    name: Type.Optional(Type.String({ minLength: 1, maxLength: 255 })),
    password: Type.Optional(Secret),
    code: Type.Optional(
      Type.String({
        maxLength: 30,
        description:
          'of the second factor, or a recovery code; where it is missing, 401 has a problem with the field "code"',
      }),
    ),
    token: Type.Optional({ ...Secret, description: 'the admin token' }),
  },
  strict,
)
const postSession = {
  tags,
  security: [],
  description:
    'Signs a browser in, with name and password or with the admin token: the answer sets a cookie.',
  body: SignIn,
  response: responses({ 200: SessionAnswer }, 400, 401, 413, 415, 429),
}
const getSession = { tags, response: responses({ 200: SessionAnswer }, 401, 404) }
const deleteSession = {
  tags,
  description: 'Signs the browser out.',
  response: responses({ 204: Type.Null({ description: 'signed out' }) }, 401),
}
const postPassword = {
  tags,
  description: 'Changes the password of whoever is signed in, and ends their other sessions.',
  body: Type.Object({ current: Secret, next: Secret }, strict),
  response: responses({ 204: Type.Null({ description: 'changed' }) }, 400, 401, 404, 413, 415, 429),
}
const listSessions = {
  tags,
  description: 'Those of whoever asks; of everybody for an admin. Newest first.',
  response: responses(
    {
      200: pageOf(
        Type.Object(
          {
            id: Type.String(),
            user: Type.String(),
            address: Type.String({ description: 'from which it was begun' }),
            createdAt: Time,
            usedAt: Time,
            expiresAt: Time,
          },
          { title: 'OpenSession' },
        ),
      ),
    },
    401,
  ),
}
const revokeSession = {
  tags,
  params: Type.Object({ id: Type.String() }),
  response: responses({ 204: Type.Null({ description: 'ended' }) }, 401, 404),
}

interface SignInRouteParts extends SignInParts {
  readonly sessions: Sessions
  readonly authentication: Authentication
}

/** Apart from the others, since it needs no credentials. */
export const signInRoute: FastifyPluginAsyncTypebox<SignInRouteParts> = async (app, parts) => {
  const { sessions } = parts
  app.post('/session', { schema: postSession }, async (request, reply) => {
    const user = await whoSignsIn(request, reply, parts)
    request.auditNote = { who: user ?? ADMIN_NAME }
    const secret = await sessions.open(user, request.ip)
    const session = found(await sessions.find(secret))
    reply.header('cache-control', 'no-store').setCookie(SESSION_COOKIE, secret, {
      path: cookiePath,
      httpOnly: true,
      sameSite: 'lax',
      secure: isSecure(request),
      expires: new Date(session.expiresAtMs),
    })
    return present(session)
  })
}

export const sessionRoutes: FastifyPluginAsyncTypebox<AdminApiParts> = async (app, parts) => {
  const { sessions, users } = parts
  app.get('/session', { schema: getSession }, async (request, reply) => {
    reply.header('cache-control', 'no-store')
    return present(found(await sessions.find(request.cookies[SESSION_COOKIE])))
  })
  app.delete('/session', { schema: deleteSession }, async (request, reply) => {
    const { sessionId } = principalOf(request)
    if (sessionId !== undefined) await sessions.close(sessionId)
    reply.clearCookie(SESSION_COOKIE, { path: cookiePath }).code(204)
  })
  app.post('/session/password', { schema: postPassword }, async (request, reply) => {
    const { current, next } = request.body
    const { name, sessionId } = await requireOwnPassword(request, reply, current, parts)
    await users.change(name, { password: next }, sessionId)
    reply.code(204)
  })
  app.get('/sessions', { schema: listSessions }, async (request) => {
    const items = await visible(request, sessions)
    return { items, total: items.length }
  })
  app.delete('/sessions/:id', { schema: revokeSession }, async (request, reply) => {
    const { id } = request.params
    if (!(await visible(request, sessions)).some((session) => session.id === id)) {
      throw new ApiError(404, `there is no session "${id}"`)
    }
    await sessions.close(id)
    reply.code(204)
  })
}

async function visible(request: FastifyRequest, sessions: Sessions) {
  const { name, role, scopes } = principalOf(request)
  const all = await sessions.list()
  const seesAll = isAtLeast(role, 'admin') && scopes === undefined
  return seesAll ? all : all.filter(({ user }) => user === name)
}

function found(session: Session | undefined): Session {
  if (session === undefined) throw new ApiError(404, 'the request comes without a session')
  return session
}

function present({ csrfToken, expiresAtMs, principal: { name, role } }: Session) {
  return { csrfToken, expiresAt: new Date(expiresAtMs).toISOString(), name, role }
}

// Behind a proxy that ends TLS. Whoever makes the field up harms only their own cookie.
function isSecure(request: FastifyRequest): boolean {
  return request.protocol === 'https' || request.headers['x-forwarded-proto'] === 'https'
}

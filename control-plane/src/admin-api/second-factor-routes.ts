/** The second factor of whoever is signed in. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { peopleLimits } from '../people/limits.ts'
import { principalOf } from './access.ts'
import type { AdminApiParts } from './parts.ts'
import { responses } from './schemas.ts'
import { requireOwnPassword } from './sign-in.ts'

const tags = ['session']
const strict = { additionalProperties: false } as const
const Password = Type.String({ minLength: 1, maxLength: peopleLimits.passwordCharactersMax })
const Code = Type.String({ minLength: 6, maxLength: 30 })
const failures = [400, 401, 404, 413, 415, 429] as const

const postProposal = {
  tags,
  description: 'A secret for an authenticator. Nothing changes before it is sent back with a code.',
  response: responses(
    { 200: Type.Object({ secret: Type.String(), uri: Type.String() }) },
    401,
    404,
  ),
}
const postSecondFactor = {
  tags,
  description:
    'From now on signing in takes a code of the authenticator that has the secret. Ends the other sessions.',
  body: Type.Object(
    { password: Password, secret: Type.String({ maxLength: 64 }), code: Code },
    strict,
  ),
  response: responses(
    {
      200: Type.Object({
        recoveryCodes: Type.Array(Type.String(), {
          description: 'each good for one sign-in without the authenticator; shown this once',
        }),
      }),
    },
    ...failures,
  ),
}
const removeSecondFactor = {
  tags,
  body: Type.Object({ password: Password }, strict),
  response: responses({ 204: Type.Null({ description: 'removed' }) }, ...failures),
}

export const secondFactorRoutes: FastifyPluginAsyncTypebox<AdminApiParts> = async (app, parts) => {
  const { users, secondFactors } = parts
  app.post('/session/second-factor/new', { schema: postProposal }, async (request, reply) => {
    const { name } = await users.find(principalOf(request).name)
    reply.header('cache-control', 'no-store')
    return secondFactors.propose(name)
  })
  app.post('/session/second-factor', { schema: postSecondFactor }, async (request, reply) => {
    const { password, secret, code } = request.body
    const { name, sessionId } = await requireOwnPassword(request, reply, password, parts)
    const kept = sessionId === undefined ? {} : { keptSession: sessionId }
    const recoveryCodes = await secondFactors.enable(name, { secret, code, ...kept })
    reply.header('cache-control', 'no-store')
    return { recoveryCodes }
  })
  const remove = '/session/second-factor/remove'
  app.post(remove, { schema: removeSecondFactor }, async (request, reply) => {
    const { name } = await requireOwnPassword(request, reply, request.body.password, parts)
    await secondFactors.disable(name)
    reply.code(204)
  })
}

/** Tokens by which machines become nodes. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { changeOf } from '../model/audit-entry.ts'
import type { AdminApiParts } from './parts.ts'
import { ApiError } from './problem-details.ts'
import { JoinTokenAnswer, JoinTokenRequest, PageQuery, pageOf, responses } from './schemas.ts'

const tags = ['join-tokens']
const createJoinToken = {
  tags,
  body: JoinTokenRequest,
  response: responses(
    {
      201: Type.Object({
        ...JoinTokenAnswer.properties,
        token: Type.String({ description: 'shown this once' }),
      }),
    },
    400,
    401,
    409,
    413,
    415,
    422,
  ),
}
const listJoinTokens = {
  tags,
  querystring: PageQuery,
  response: responses({ 200: pageOf(JoinTokenAnswer) }, 400, 401),
}
const removeJoinToken = {
  tags,
  params: Type.Object({ id: Type.String() }),
  response: responses({ 204: Type.Null({ description: 'deleted' }) }, 401, 404),
}

export const joinTokenRoutes: FastifyPluginAsyncTypebox<AdminApiParts> = async (
  app,
  { joinTokens, keys },
) => {
  const create = { schema: createJoinToken, config: { isIdempotent: true } }
  app.post('/join-tokens', create, async (request, reply) => {
    const created = await joinTokens.create(request.body, keys.receipt(request))
    const { token: _, ...shown } = created
    const { id } = shown
    request.auditNote = { object: id, changes: [changeOf('join-token', id, undefined, shown)] }
    reply.code(201).header('cache-control', 'no-store')
    return created
  })
  app.get('/join-tokens', { schema: listJoinTokens }, async ({ query: { limit, offset } }) => {
    const all = await joinTokens.list()
    return { items: all.slice(offset, offset + limit), total: all.length }
  })
  app.delete('/join-tokens/:id', { schema: removeJoinToken }, async ({ params: { id } }, reply) => {
    if (!(await joinTokens.remove(id))) throw new ApiError(404, `there is no join token "${id}"`)
    reply.code(204)
  })
}

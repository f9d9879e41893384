/** Tokens for programs that use this API. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { changeOf } from '../model/audit-entry.ts'
import { limits } from '../model/limits.ts'
import { Name } from '../model/resources.ts'
import { peopleLimits } from '../people/limits.ts'
import { ROLES } from '../people/principal.ts'
import { SCOPE_KINDS } from '../people/scopes.ts'
import { principalOf } from './access.ts'
import type { AdminApiParts } from './parts.ts'
import { pageOf, responses, Time } from './schemas.ts'

const tags = ['api-tokens']
const strict = { additionalProperties: false } as const
const NullableTime = Type.Unsafe<string | null>({ type: ['string', 'null'], format: 'date-time' })
const ScopeSchema = Type.Object(
  {
    kinds: Type.Array(Type.Enum([...SCOPE_KINDS]), {
      maxItems: SCOPE_KINDS.length,
      description: 'empty: all',
    }),
    access: Type.Enum(['read', 'write'], { description: 'writing comes with reading' }),
    selector: Type.Record(Type.String(), Type.String(), {
      maxProperties: limits.labelsMax,
      description: 'labels that resources must carry, before and after, to be written',
    }),
  },
  { ...strict, title: 'Scope' },
)
const ApiTokenAnswer = Type.Object(
  {
    name: Type.String(),
    role: Type.Enum([...ROLES]),
    scopes: Type.Union([Type.Array(ScopeSchema), Type.Null()], {
      description: 'null: everything that the role may',
    }),
    author: Type.String(),
    createdAt: Time,
    expiresAt: NullableTime,
    usedAt: Type.Unsafe<string | null>({ ...NullableTime, description: 'to the minute' }),
  },
  { title: 'ApiToken' },
)
const listTokens = { tags, response: responses({ 200: pageOf(ApiTokenAnswer) }, 401) }
const postToken = {
  tags,
  body: Type.Object(
    {
      name: Name,
      role: Type.Enum([...ROLES]),
      scopes: Type.Optional(
        Type.Array(ScopeSchema, {
          minItems: 1,
          maxItems: peopleLimits.scopesMax,
          description: 'left out: everything that the role may',
        }),
      ),
      expiresInSeconds: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: peopleLimits.apiTokenSecondsMax,
          description: 'left out: it does not expire',
        }),
      ),
    },
    strict,
  ),
  response: responses(
    {
      201: Type.Object({
        ...ApiTokenAnswer.properties,
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
const deleteToken = {
  tags,
  params: Type.Object({ name: Type.String() }),
  response: responses({ 204: Type.Null({ description: 'revoked' }) }, 401, 404),
}

export const apiTokenRoutes: FastifyPluginAsyncTypebox<AdminApiParts> = async (
  app,
  { apiTokens },
) => {
  app.get('/api-tokens', { schema: listTokens }, async () => {
    const items = await apiTokens.list()
    return { items, total: items.length }
  })
  app.post('/api-tokens', { schema: postToken }, async (request, reply) => {
    const created = await apiTokens.create(request.body, principalOf(request).name)
    const { token: _, ...shown } = created
    const { name } = shown
    request.auditNote = {
      object: name,
      changes: [changeOf('api-token', name, undefined, shown)],
    }
    reply.code(201).header('cache-control', 'no-store')
    return created
  })
  app.delete('/api-tokens/:name', { schema: deleteToken }, async ({ params: { name } }, reply) => {
    await apiTokens.revoke(name)
    reply.code(204)
  })
}

/** More log lines for a while, of all nodes or of one. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import type { LogRaiseWish } from '../fleet/log-raises.ts'
import { apiLimits } from './limits.ts'
import type { AdminApiParts } from './parts.ts'
import { ApiError } from './problem-details.ts'
import { responses } from './schemas.ts'

const tags = ['logs']
const Raise = Type.Object(
  {
    perSecond: Type.Integer(),
    until: Type.String({ format: 'date-time' }),
    node: Type.String({ description: 'name; empty: all nodes' }),
  },
  { title: 'LogRaise' },
)

const postRaise = {
  tags,
  description:
    'Raises the cap of log lines per second for a while. It replaces an earlier one for the same node, or for all.',
  body: Type.Object(
    {
      perSecond: Type.Integer({ minimum: 1, maximum: apiLimits.raisedLinesPerSecondMax }),
      seconds: Type.Integer({ minimum: 1, maximum: apiLimits.raiseSecondsMax }),
      node: Type.Optional(Type.String({ maxLength: 63, description: 'name or id; default: all' })),
    },
    { additionalProperties: false },
  ),
  response: responses({ 200: Raise }, 400, 401, 404, 415, 429),
}
const getRaises = {
  tags,
  response: responses({ 200: Type.Object({ raises: Type.Array(Raise) }) }, 401),
}
const deleteRaises = {
  tags,
  description: 'Ends all raises.',
  response: responses({ 204: Type.Null({ description: 'ended' }) }, 401),
}

export const logRaiseRoutes: FastifyPluginAsyncTypebox<AdminApiParts> = async (
  app,
  { nodes, logRaises },
) => {
  const shown = async ({ perSecond, untilMs, nodeId }: LogRaiseWish) => ({
    perSecond,
    until: new Date(untilMs).toISOString(),
    node: nodeId === '' ? '' : ((await nodes.find(nodeId))?.name ?? nodeId),
  })
  app.post('/logs/raise', { schema: postRaise }, async ({ body: { perSecond, seconds, node } }) => {
    const asked = node === undefined ? undefined : await nodes.find(node)
    if (node !== undefined && asked === undefined) {
      throw new ApiError(404, `there is no node "${node}"`)
    }
    const wish = { perSecond, forMs: seconds * 1_000, nodeId: asked?.id ?? '' }
    const raise = logRaises.set(wish)
    if (raise === undefined) throw new ApiError(429, 'there are as many raises as may be')
    return shown(raise)
  })
  app.get('/logs/raise', { schema: getRaises }, async () => ({
    raises: await Promise.all(logRaises.list().map(shown)),
  }))
  app.delete('/logs/raise', { schema: deleteRaises }, async (_request, reply) => {
    logRaises.clear()
    reply.code(204)
  })
}

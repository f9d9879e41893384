/** The fleet. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import type { AdminApiParts } from './parts.ts'
import { ApiError } from './problem-details.ts'
import { NodeAnswer, responses } from './schemas.ts'

const tags = ['nodes']
const params = Type.Object({ node: Type.String({ description: 'name or id' }) })
const listNodes = {
  tags,
  response: responses(
    { 200: Type.Object({ items: Type.Array(NodeAnswer), total: Type.Integer() }) },
    401,
  ),
}
const getNode = { tags, params, response: responses({ 200: NodeAnswer }, 401, 404) }
const revokeNode = {
  tags,
  params,
  description: 'Ends the trust in a node for good: its streams are cut and it may not come back.',
  response: responses({ 200: NodeAnswer }, 401, 404),
}

const drainNode = draining(
  'The node takes no new connections and says so to its load balancer (/readyz is 503); what is open ends by itself, and `load` shows how much that is.',
)
const undrainNode = draining('The node takes connections again.')

export const nodeRoutes: FastifyPluginAsyncTypebox<AdminApiParts> = async (app, { nodes }) => {
  app.get('/nodes', { schema: listNodes }, async () => {
    const items = await nodes.list()
    return { items, total: items.length }
  })
  app.get('/nodes/:node', { schema: getNode }, async ({ params: { node } }) =>
    found(node, await nodes.find(node)),
  )
  app.post('/nodes/:node/revoke', { schema: revokeNode }, async ({ params: { node } }) =>
    found(node, await nodes.revoke(node)),
  )
  app.post('/nodes/:node/drain', { schema: drainNode }, async ({ params: { node } }) =>
    found(node, await nodes.setDraining(node, true)),
  )
  app.post('/nodes/:node/undrain', { schema: undrainNode }, async ({ params: { node } }) =>
    found(node, await nodes.setDraining(node, false)),
  )
}

function draining(text: string) {
  return { tags, params, description: text, response: responses({ 200: NodeAnswer }, 401, 404) }
}

function found<T>(nameOrId: string, node: T | undefined): T {
  if (node === undefined) throw new ApiError(404, `there is no node "${nameOrId}"`)
  return node
}

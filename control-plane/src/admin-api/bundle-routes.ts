/** Bundles by which a node starts before it has reached the control plane. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { bundleSecondsDefault, NodeBundles } from '../fleet/node-bundles.ts'
import type { AdminApiParts } from './parts.ts'
import { ApiError } from './problem-details.ts'
import { JoinTokenRequest, Labels, responses, Time } from './schemas.ts'

const { labels, expiresInSeconds } = JoinTokenRequest.properties
const createBundle = {
  tags: ['nodes'],
  description:
    'Makes a bundle with which a new node serves while it does not reach the control plane, and joins when it does. The answer holds private keys and a join token.',
  body: Type.Object(
    {
      name: Type.String({ minLength: 1, maxLength: 100, description: 'of the node' }),
      labels,
      expiresInSeconds: Type.Optional({ ...expiresInSeconds, default: bundleSecondsDefault }),
    },
    { additionalProperties: false },
  ),
  response: responses(
    {
      201: Type.Object(
        {
          format: Type.Literal('sluice-node-bundle-1'),
          name: Type.String(),
          labels: Labels,
          version: Type.Integer(),
          hash: Type.String({ description: 'of what the node gets of the version' }),
          update: Type.String({ description: 'a sluice.v1 Update, base64' }),
          joinToken: Type.String({ description: 'shown this once' }),
          joinTokenId: Type.String(),
          expiresAt: Time,
        },
        { title: 'NodeBundle' },
      ),
    },
    400,
    401,
    409,
    413,
    415,
    422,
  ),
}

export const bundleRoutes: FastifyPluginAsyncTypebox<AdminApiParts> = async (
  app,
  { publisher, joinTokens, keys },
) => {
  const bundles = new NodeBundles(publisher, joinTokens)
  const create = { schema: createBundle, config: { isIdempotent: true } }
  app.post('/node-bundles', create, async (request, reply) => {
    const bundle = await bundles.create(request.body, keys.receipt(request))
    request.auditNote = { object: request.body.name }
    if (bundle === undefined) throw new ApiError(409, 'nothing is published yet')
    reply.code(201).header('cache-control', 'no-store')
    return bundle
  })
}

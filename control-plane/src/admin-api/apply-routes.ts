/** Several resources in one version, or none. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { flatDocumentSchema, fromFlat, locateInList } from '../model/documents.ts'
import { limits } from '../model/limits.ts'
import type { Change } from '../publishing/changes.ts'
import type { AdminApiParts } from './parts.ts'
import { ApplyAnswer, responses } from './schemas.ts'

const postApply = {
  tags: ['apply'],
  description: 'Creates or replaces all resources in one version, or none of them.',
  body: Type.Object(
    {
      message: Type.Optional(Type.String({ maxLength: limits.messageCharactersMax })),
      resources: Type.Array(flatDocumentSchema, { maxItems: limits.resourcesPerApplyMax }),
    },
    { additionalProperties: false },
  ),
  response: responses({ 200: ApplyAnswer }, 400, 401, 413, 415, 422),
}

export const applyRoutes: FastifyPluginAsyncTypebox<AdminApiParts> = async (app, { writer }) => {
  app.post(
    '/apply',
    { schema: postApply, config: { locate: locateInList } },
    ({ body: { resources, message } }, reply) => {
      const changes = resources.map((flat): Change => ({ op: 'put', document: fromFlat(flat) }))
      return writer.writeAll(reply, changes, message ?? `apply ${countOf(resources.length)}`)
    },
  )
}

function countOf(resources: number): string {
  return resources === 1 ? '1 resource' : `${resources} resources`
}

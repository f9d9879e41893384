/** What was published. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import type { AdminApiParts } from './parts.ts'
import { ApiError } from './problem-details.ts'
import { presentFlat } from './representation.ts'
import { PageQuery, pageOf, responses, VersionAnswer, VersionSummary } from './schemas.ts'

const tags = ['versions']
const listVersions = {
  tags,
  description: 'Newest first.',
  querystring: PageQuery,
  response: responses({ 200: pageOf(VersionSummary) }, 400, 401),
}
const getVersion = {
  tags,
  params: Type.Object({ number: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }) }),
  response: responses({ 200: VersionAnswer }, 400, 401, 404),
}

export const versionRoutes: FastifyPluginAsyncTypebox<AdminApiParts> = async (app, { archive }) => {
  app.get('/versions', { schema: listVersions }, ({ query: { limit, offset } }) =>
    archive.list(limit, offset),
  )
  app.get('/versions/:number', { schema: getVersion }, async ({ params: { number } }) => {
    const version = await archive.find(number)
    if (version === undefined) throw new ApiError(404, `there is no version ${number}`)
    return { ...version, resources: version.resources.map(presentFlat) }
  })
}

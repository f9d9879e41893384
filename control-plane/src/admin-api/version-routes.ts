/** What was published, what differs, and the way back. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { changesTo } from '../publishing/whole-state.ts'
import { ApplyAnswer, DifferenceSchema, VersionAnswer, VersionSummary } from './change-schemas.ts'
import { apiLimits } from './limits.ts'
import type { AdminApiParts } from './parts.ts'
import { ApiError } from './problem-details.ts'
import { presentFlat } from './representation.ts'
import { CreateHeaders, PageQuery, pageOf, responses, WriteQuery } from './schemas.ts'

const tags = ['versions']
const Numbered = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })
const listVersions = {
  tags,
  description: 'Newest first.',
  querystring: PageQuery,
  response: responses({ 200: pageOf(VersionSummary) }, 400, 401),
}
const params = Type.Object({ number: Numbered })
const getVersion = {
  tags,
  params,
  response: responses({ 200: VersionAnswer }, 400, 401, 404),
}
const getDifference = {
  tags,
  description: 'What changes on the way from the first version to the second one.',
  params: Type.Object({ number: Numbered, other: Numbered }),
  querystring: PageQuery,
  response: responses(
    {
      200: Type.Object({
        from: VersionSummary,
        to: VersionSummary,
        ...pageOf(DifferenceSchema).properties,
      }),
    },
    400,
    401,
    404,
  ),
}
const postRollback = {
  tags,
  description: 'Makes the configuration what it was in the version, as a new version.',
  params,
  querystring: WriteQuery,
  headers: CreateHeaders,
  response: responses({ 200: ApplyAnswer }, 400, 401, 404, 409, 422),
}

export const versionRoutes: FastifyPluginAsyncTypebox<AdminApiParts> = async (
  app,
  { archive, writer },
) => {
  app.get('/versions', { schema: listVersions }, ({ query: { limit, offset } }) =>
    archive.list(limit, offset),
  )
  app.get('/versions/:number', { schema: getVersion }, async ({ params: { number } }) => {
    const { resources, changes, ...version } = found(number, await archive.find(number))
    return {
      ...version,
      changes: changes.slice(0, apiLimits.differencesMax),
      changesTotal: changes.length,
      resources: resources.map(presentFlat),
    }
  })
  app.get(
    '/versions/:number/diff/:other',
    { schema: getDifference },
    async ({ params: { number, other }, query: { limit, offset } }) => {
      const from = found(number, await archive.summary(number))
      const to = found(other, await archive.summary(other))
      const all = await archive.difference(number, other)
      return { from, to, items: all.slice(offset, offset + limit), total: all.length }
    },
  )
  app.post(
    '/versions/:number/rollback',
    { schema: postRollback, config: { isIdempotent: true } },
    async (request, reply) => {
      const { number } = request.params
      found(number, await archive.summary(number))
      const resources = await archive.resources(number)
      return writer.writeAll(request, reply, {
        changes: (state) => changesTo(resources, state),
        message: `roll back to version ${number}`,
      })
    },
  )
}

function found<T>(number: number, version: T | undefined): T {
  if (version === undefined) throw new ApiError(404, `there is no version ${number}`)
  return version
}

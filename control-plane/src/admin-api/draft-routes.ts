/** Drafts. They are written by the routes of resources, with the query "draft". */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { ApplyAnswer, DraftAnswer, DraftCheckAnswer, DraftSummarySchema } from './change-schemas.ts'
import { byWhom, messageOf } from './configuration-writer.ts'
import type { AdminApiParts } from './parts.ts'
import { MessageQuery, pageOf, NameParameters as params, responses } from './schemas.ts'

const tags = ['drafts']
const listDrafts = { tags, response: responses({ 200: pageOf(DraftSummarySchema) }, 401) }
const getDraft = {
  tags,
  description: 'With what it changes in the newest version.',
  params,
  response: responses({ 200: DraftAnswer }, 401, 404),
}
const validateDraft = {
  tags,
  description: 'Everything that keeps the draft from being published.',
  params,
  response: responses({ 200: DraftCheckAnswer }, 401, 404),
}
const publishDraft = {
  tags,
  description: 'Publishes all changes of the draft as one version, and ends the draft.',
  params,
  querystring: MessageQuery,
  response: responses({ 200: ApplyAnswer }, 400, 401, 404, 409, 422),
}
const discardDraft = {
  tags,
  params,
  response: responses({ 204: Type.Null({ description: 'discarded' }) }, 401, 404),
}

export const draftRoutes: FastifyPluginAsyncTypebox<AdminApiParts> = async (
  app,
  { drafts, writer },
) => {
  app.get('/drafts', { schema: listDrafts }, async () => {
    const items = await drafts.list()
    return { items, total: items.length }
  })
  app.get('/drafts/:name', { schema: getDraft }, ({ params: { name } }) => drafts.find(name))
  app.post('/drafts/:name/validate', { schema: validateDraft }, ({ params: { name } }) =>
    drafts.check(name),
  )
  app.post('/drafts/:name/publish', { schema: publishDraft }, async (request, reply) => {
    const { name } = request.params
    const message = messageOf(request) ?? `publish draft ${name}`
    const stage = await writer.stageOf(request)
    const publication = await drafts.publish(name, { ...byWhom(request), message, stage })
    reply.header('sluice-version', publication.version)
    return publication
  })
  app.delete('/drafts/:name', { schema: discardDraft }, async ({ params: { name } }, reply) => {
    await drafts.discard(name)
    reply.code(204)
  })
}

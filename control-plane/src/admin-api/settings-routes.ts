/** The settings that hold for the whole fleet. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { bodySchemas, fromBody } from '../model/bodies.ts'
import { locate } from '../model/documents.ts'
import { SETTINGS_NAME } from '../model/kinds.ts'
import type { AdminApiParts } from './parts.ts'
import { answerOne } from './representation.ts'
import { answers, DraftQuery, responses, WriteHeaders, WriteQuery } from './schemas.ts'
import type { Locate } from './validation.ts'

const id = { kind: 'settings', name: SETTINGS_NAME } as const
const tags = ['settings']
const locateBody: Locate = (problems, body) => locate(problems, 'settings', body)

const getSettings = {
  tags,
  querystring: DraftQuery,
  response: responses({ 200: answers.settings }, 400, 401, 404),
}
const putSettings = {
  tags,
  querystring: WriteQuery,
  headers: WriteHeaders,
  body: Type.Unsafe<object>(bodySchemas.settings),
  response: responses({ 200: answers.settings }, 400, 401, 412, 413, 415, 422),
}

export const settingsRoutes: FastifyPluginAsyncTypebox<AdminApiParts> = async (
  app,
  { writer, now },
) => {
  app.get('/settings', { schema: getSettings }, async ({ query }, reply) =>
    answerOne(reply, await writer.state(query), id, now()),
  )
  app.put(
    '/settings',
    { schema: putSettings, config: { locate: locateBody } },
    async (request, reply) => {
      const document = fromBody('settings', request.body)
      const state = await writer.write(request, reply, { op: 'put', document })
      return answerOne(reply, state, id, now())
    },
  )
}

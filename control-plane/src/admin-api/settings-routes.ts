/** The settings that hold for the whole fleet. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { documentSchemas, locate, toDocument } from '../model/documents.ts'
import { SETTINGS_NAME } from '../model/kinds.ts'
import type { AdminApiParts } from './parts.ts'
import { presentOne } from './representation.ts'
import { answers, responses } from './schemas.ts'
import type { Locate } from './validation.ts'

const id = { kind: 'settings', name: SETTINGS_NAME } as const
const tags = ['settings']
const locateBody: Locate = (problems, body) => locate(problems, 'settings', body)

const getSettings = { tags, response: responses({ 200: answers.settings }, 401) }
const putSettings = {
  tags,
  body: documentSchemas.settings,
  response: responses({ 200: answers.settings }, 400, 401, 413, 415),
}

export const settingsRoutes: FastifyPluginAsyncTypebox<AdminApiParts> = async (
  app,
  { publisher, writer, now },
) => {
  app.get('/settings', { schema: getSettings }, () => presentOne(publisher.state, id, now()))
  app.put(
    '/settings',
    { schema: putSettings, config: { locate: locateBody } },
    async ({ body }, reply) => {
      await writer.write(reply, { op: 'put', document: toDocument('settings', body) })
      return presentOne(publisher.state, id, now())
    },
  )
}

/** What changes, told to browsers as it happens (server-sent events). */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { type EventName, EventReader } from './event-reader.ts'
import { apiLimits } from './limits.ts'
import type { AdminApiParts } from './parts.ts'
import { ApiError } from './problem-details.ts'
import { responses } from './schemas.ts'

const getEvents = {
  tags: ['status'],
  description:
    'text/event-stream of `version` (number and hash), `nodes` (something about a node changed) and `traffic` (time to ask again). Comments are heartbeats.',
  response: responses({ 200: Type.String({ description: 'text/event-stream' }) }, 401, 429),
}

export const eventRoutes: FastifyPluginAsyncTypebox<AdminApiParts> = async (
  app,
  { publisher, nodes, now },
) => {
  const readers = new Set<EventReader>()
  const tell = (name: EventName, data: object) => {
    for (const reader of readers) reader.tell(name, data)
  }
  const ends = [
    publisher.onPublished(({ number, hash }) => tell('version', { number: Number(number), hash })),
    nodes.onChanged(() => tell('nodes', {})),
  ]
  const ticks = setInterval(
    () => tell('traffic', { time: new Date(now()).toISOString() }),
    apiLimits.trafficTickMs,
  )
  ticks.unref()
  app.addHook('preClose', async () => {
    clearInterval(ticks)
    for (const end of ends) end()
    for (const reader of readers) reader.end()
  })
  app.get('/events', { schema: getEvents }, (_request, reply) => {
    if (readers.size >= apiLimits.eventReadersMax) {
      throw new ApiError(429, `${apiLimits.eventReadersMax} readers listen already`)
    }
    reply.hijack()
    const reader = new EventReader(reply.raw, () => readers.delete(reader))
    readers.add(reader)
  })
}

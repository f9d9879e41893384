/** Request log lines: searched, exported, and followed as they come. */
import { Readable } from 'node:stream'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import type { LogFollower } from '../telemetry/log-feed.ts'
import type { LogItem } from '../telemetry/logs.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'
import { apiLimits } from './limits.ts'
import type { AdminApiParts } from './parts.ts'
import { ApiError } from './problem-details.ts'
import { LogsAnswer, pageLimits, responses } from './schemas.ts'
import { parseTime, TimeParameter } from './time-parameters.ts'

const tags = ['logs']
const strict = { additionalProperties: false } as const
const NameParameter = Type.Optional(Type.String({ maxLength: 63 }))

const choice = {
  node: NameParameter,
  router: NameParameter,
  service: NameParameter,
  status: Type.Optional(
    Type.String({ maxLength: 3, description: 'like 404, or 4xx for a class; 0: none was sent' }),
  ),
  path: Type.Optional(Type.String({ maxLength: 1_024, description: 'what the path begins with' })),
  client: Type.Optional(Type.String({ maxLength: 45, description: 'its address' })),
  method: Type.Optional(Type.String({ maxLength: 64 })),
}
const StreamedText = Type.Unsafe<Readable>({ type: 'string' })
const range = { from: TimeParameter, to: TimeParameter }

const getLogs = {
  tags,
  description: 'Newest first.',
  querystring: Type.Object(
    {
      limit: Type.Optional(
        Type.Integer({ minimum: 1, maximum: pageLimits.max, default: pageLimits.default }),
      ),
      before: Type.Optional(
        Type.String({ maxLength: 64, description: '`next` of the page before' }),
      ),
      ...choice,
      ...range,
    },
    strict,
  ),
  response: responses({ 200: LogsAnswer }, 400, 401),
}

const exportLogs = {
  tags,
  description: 'All lines of a choice, newest first, one JSON object in a line.',
  querystring: Type.Object({ ...choice, ...range }, strict),
  response: {
    ...responses({}, 400, 401),
    200: { description: 'success', content: { 'application/x-ndjson': { schema: StreamedText } } },
  },
}

const followLogs = {
  tags,
  description:
    'Lines as they are stored. The event `lines` has a list of them, oldest first; `dropped` tells how many stored lines a reader was too slow for.',
  querystring: Type.Object(choice, strict),
  response: {
    ...responses({}, 400, 401, 429),
    200: { description: 'success', content: { 'text/event-stream': { schema: StreamedText } } },
  },
}

export const logRoutes: FastifyPluginAsyncTypebox<AdminApiParts> = async (app, { telemetry }) => {
  app.get('/logs', { schema: getLogs }, ({ query: { from, to, ...filter } }) =>
    telemetry.queryLogs({
      ...filter,
      fromMs: parseTime('from', from),
      toMs: parseTime('to', to),
    }),
  )
  app.get(
    '/logs/export',
    { schema: exportLogs },
    async ({ query: { from, to, ...filter } }, reply) => {
      const asked = { ...filter, fromMs: parseTime('from', from), toMs: parseTime('to', to) }
      const text = await beginExport(telemetry, asked)
      reply.header('content-type', 'application/x-ndjson').header('cache-control', 'no-store')
      return reply.send(Readable.from(text))
    },
  )
  app.get('/logs/follow', { schema: followLogs }, async ({ query }, reply) => {
    const follower = await telemetry.followLogs(query)
    if (follower === undefined) throw new ApiError(429, 'as many follow the logs as may')
    reply.raw.once('close', () => follower.end())
    reply.header('content-type', 'text/event-stream').header('cache-control', 'no-store')
    return reply.send(Readable.from(eventsOf(follower)))
  })
  app.addHook('preClose', async () => telemetry.endFollowing())
}

/** The first page is read before the answer begins, so that a wrong choice is still answered as such. */
async function beginExport(
  telemetry: Telemetry,
  asked: Parameters<Telemetry['exportLogs']>[0],
): Promise<AsyncGenerator<string>> {
  const pages = telemetry.exportLogs(asked)
  const first = await pages.next()
  return textOf(first.done === true ? [] : first.value, pages)
}

async function* textOf(
  first: readonly LogItem[],
  pages: AsyncGenerator<readonly LogItem[]>,
): AsyncGenerator<string> {
  yield linesOf(first)
  for await (const page of pages) yield linesOf(page)
}

function linesOf(items: readonly LogItem[]): string {
  return items.map((item) => `${JSON.stringify(item)}\n`).join('')
}

/** The stream asks for the next event when the one before is on its way. */
async function* eventsOf(follower: LogFollower): AsyncGenerator<string> {
  try {
    yield ': following\n\n'
    while (!follower.isEnded) {
      const { items, dropped } = await follower.next(apiLimits.heartbeatMs)
      if (dropped > 0) yield `event: dropped\ndata: ${JSON.stringify({ lines: dropped })}\n\n`
      yield items.length === 0
        ? ': heartbeat\n\n'
        : `event: lines\ndata: ${JSON.stringify(items)}\n\n`
    }
  } finally {
    follower.end()
  }
}

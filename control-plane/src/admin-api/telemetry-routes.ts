/** What the nodes counted and sampled. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import type { AdminApiParts } from './parts.ts'
import { LogsAnswer, pageLimits, responses, TrafficAnswer } from './schemas.ts'
import { parseDuration, parseTime } from './time-parameters.ts'

const hourMs = 3_600_000
const strict = { additionalProperties: false } as const
const TimeParameter = Type.Optional(
  Type.String({ maxLength: 40, description: 'ISO 8601, or milliseconds since the epoch' }),
)
const NameParameter = Type.Optional(Type.String({ maxLength: 63 }))

const getTraffic = {
  tags: ['analytics'],
  querystring: Type.Object(
    {
      by: Type.Enum(['node', 'router', 'service']),
      from: TimeParameter,
      to: TimeParameter,
      step: Type.Optional(
        Type.String({ maxLength: 20, description: 'like 1m, 5m, 1h, 1d; default: one step' }),
      ),
    },
    strict,
  ),
  response: responses({ 200: TrafficAnswer }, 400, 401),
}

const getLogs = {
  tags: ['logs'],
  description: 'Newest first.',
  querystring: Type.Object(
    {
      limit: Type.Optional(
        Type.Integer({ minimum: 1, maximum: pageLimits.max, default: pageLimits.default }),
      ),
      before: Type.Optional(
        Type.String({ maxLength: 64, description: '`next` of the page before' }),
      ),
      node: NameParameter,
      router: NameParameter,
      service: NameParameter,
      status: Type.Optional(Type.Integer({ minimum: 0, maximum: 999 })),
      from: TimeParameter,
      to: TimeParameter,
    },
    strict,
  ),
  response: responses({ 200: LogsAnswer }, 400, 401),
}

export const telemetryRoutes: FastifyPluginAsyncTypebox<AdminApiParts> = async (
  app,
  { telemetry, now },
) => {
  app.get('/analytics/traffic', { schema: getTraffic }, ({ query: { by, from, to, step } }) => {
    const toMs = parseTime('to', to) ?? now()
    const fromMs = parseTime('from', from) ?? toMs - hourMs
    return telemetry.queryTraffic({ by, fromMs, toMs, stepMs: parseDuration('step', step) })
  })
  app.get('/logs', { schema: getLogs }, ({ query: { from, to, ...filter } }) =>
    telemetry.queryLogs({
      ...filter,
      fromMs: parseTime('from', from),
      toMs: parseTime('to', to),
    }),
  )
}

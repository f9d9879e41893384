/** What the nodes counted. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { dimensions, nameDimensions } from '../telemetry/analytics.ts'
import { methods, outcomes, protocols, statuses } from '../telemetry/breakdown.ts'
import { type ColumnMeasure, columnMeasures } from '../telemetry/columns.ts'
import { AnalyticsAnswer, ColumnsAnswer, HeatmapAnswer } from './analytics-schemas.ts'
import type { AdminApiParts } from './parts.ts'
import { responses, TrafficAnswer } from './schemas.ts'
import { parseDuration, parseTime, TimeParameter } from './time-parameters.ts'

const hourMs = 3_600_000
const strict = { additionalProperties: false } as const
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

const names = Type.Optional(Type.Array(Type.String({ maxLength: 63 }), { maxItems: 100 }))
const PercentilesParameter = Type.Optional(
  Type.String({
    maxLength: 100,
    pattern: '^(0\\.[0-9]{1,9}|1)(,(0\\.[0-9]{1,9}|1))*$',
    description: 'shares like 0.5,0.99; default: 0.5,0.9,0.99',
  }),
)

const getAnalytics = {
  tags: ['analytics'],
  description:
    'Traffic by up to two dimensions, in steps of time. Bytes, latency and retries are null where status, method, protocol or outcome are asked for.',
  querystring: Type.Object(
    {
      by: Type.Optional(Type.Array(Type.Enum([...dimensions]), { maxItems: 2 })),
      from: TimeParameter,
      to: TimeParameter,
      step: Type.Optional(
        Type.String({ maxLength: 20, description: 'like 1m, 1h, 1d, or auto; default: one step' }),
      ),
      percentiles: PercentilesParameter,
      node: names,
      router: names,
      service: names,
      status: Type.Optional(Type.Array(Type.Enum([...statuses]), { maxItems: 6 })),
      method: Type.Optional(Type.Array(Type.Enum([...methods]), { maxItems: 4 })),
      protocol: Type.Optional(Type.Array(Type.Enum([...protocols]), { maxItems: 4 })),
      outcome: Type.Optional(Type.Array(Type.Enum([...outcomes]), { maxItems: 8 })),
    },
    strict,
  ),
  response: responses({ 200: AnalyticsAnswer }, 400, 401),
}

const getColumns = {
  tags: ['analytics'],
  description:
    'Traffic for charts: one list of numbers for each measure of a series, with a number for every step of the range. Counts are 0 where nothing came, percentiles null.',
  querystring: Type.Object(
    {
      by: Type.Optional(Type.Array(Type.Enum([...nameDimensions]), { maxItems: 2 })),
      measure: Type.Optional(
        Type.Array(Type.Enum([...columnMeasures]), {
          maxItems: columnMeasures.length,
          description: 'default: requests',
        }),
      ),
      from: TimeParameter,
      to: TimeParameter,
      step: Type.Optional(
        Type.String({ maxLength: 20, description: 'like 1m, 1h, 1d; default: auto' }),
      ),
      node: names,
      router: names,
      service: names,
    },
    strict,
  ),
  response: responses({ 200: ColumnsAnswer }, 400, 401),
}

const measuresDefault: readonly ColumnMeasure[] = ['requests']

const getHeatmap = {
  tags: ['analytics'],
  description: 'Requests by doublings of their duration, in steps of time.',
  querystring: Type.Object(
    {
      from: TimeParameter,
      to: TimeParameter,
      step: Type.Optional(
        Type.String({ maxLength: 20, description: 'like 1m, 1h, 1d; default: auto' }),
      ),
      node: names,
      router: names,
      service: names,
    },
    strict,
  ),
  response: responses({ 200: HeatmapAnswer }, 400, 401),
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
  app.get('/analytics/columns', { schema: getColumns }, ({ query }) => {
    const { by = [], measure = measuresDefault, step = 'auto', node, router, service } = query
    const toMs = parseTime('to', query.to) ?? now()
    const fromMs = parseTime('from', query.from) ?? toMs - hourMs
    const stepMs = step === 'auto' ? 'auto' : parseDuration('step', step)
    const names = { nodes: node, routers: router, services: service }
    return telemetry.queryColumns({ by, measures: measure, fromMs, toMs, stepMs, ...names })
  })
  app.get('/analytics/heatmap', { schema: getHeatmap }, ({ query }) => {
    const { from, to, step = 'auto', node, router, service } = query
    const toMs = parseTime('to', to) ?? now()
    const fromMs = parseTime('from', from) ?? toMs - hourMs
    const stepMs = step === 'auto' ? 'auto' : parseDuration('step', step)
    const names = { nodes: node, routers: router, services: service }
    return telemetry.queryHeatmap({ fromMs, toMs, stepMs, ...names })
  })
  app.get('/analytics', { schema: getAnalytics }, ({ query }) => {
    const toMs = parseTime('to', query.to) ?? now()
    const { by = [], node, router, service, status, method, protocol, outcome } = query
    return telemetry.queryAnalytics({
      by,
      fromMs: parseTime('from', query.from) ?? toMs - hourMs,
      toMs,
      stepMs: query.step === 'auto' ? 'auto' : parseDuration('step', query.step),
      nodes: node,
      routers: router,
      services: service,
      filter: { status, method, protocol, outcome },
      percentiles: (query.percentiles ?? '0.5,0.9,0.99').split(',').map(Number),
    })
  })
}

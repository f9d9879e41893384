/** What questions about traffic are answered with. */
import { Type } from 'typebox'
import { dimensions, type nameDimensions } from '../telemetry/analytics.ts'
import { statuses } from '../telemetry/breakdown.ts'
import { type ColumnMeasure, columnMeasures } from '../telemetry/columns.ts'

const Time = Type.String({ format: 'date-time' })
const NullableInteger = Type.Unsafe<number | null>({ type: ['integer', 'null'] })

const Latency = Type.Unsafe<{
  count: number
  meanMs: number
  percentilesMs: readonly number[]
} | null>({
  type: ['object', 'null'],
  properties: {
    count: { type: 'integer' },
    meanMs: { type: 'number' },
    percentilesMs: { type: 'array', items: { type: 'number' } },
  },
  required: ['count', 'meanMs', 'percentilesMs'],
})

export const HeatmapAnswer = Type.Object(
  {
    from: Time,
    to: Time,
    stepMs: Type.Integer(),
    boundsMs: Type.Array(Type.Number(), { description: 'each twice the one before' }),
    columns: Type.Array(
      Type.Object({
        time: Time,
        counts: Type.Array(Type.Integer(), {
          description: 'requests below the bound of the same place, and not below the one before',
        }),
      }),
    ),
  },
  { title: 'Heatmap' },
)

export const ColumnsAnswer = Type.Object(
  {
    from: Time,
    to: Time,
    stepMs: Type.Integer(),
    series: Type.Array(
      Type.Object({
        key: Type.Unsafe<Partial<Record<(typeof nameDimensions)[number], string>>>({
          type: 'object',
          additionalProperties: { type: 'string' },
          description: 'a value for each dimension of `by`',
        }),
        columns: Type.Unsafe<Partial<Record<ColumnMeasure, readonly (number | null)[]>>>({
          type: 'object',
          properties: Object.fromEntries(
            columnMeasures.map((measure) => [
              measure,
              { type: 'array', items: { type: ['number', 'null'] } },
            ]),
          ),
          description: 'a list for each measure, with a number for each step',
        }),
      }),
    ),
  },
  { title: 'Columns' },
)

export const AnalyticsAnswer = Type.Object(
  {
    from: Time,
    to: Time,
    stepMs: Type.Integer(),
    resolutionMs: Type.Integer({ description: 'of the coarsest rows that were summed' }),
    by: Type.Array(Type.Enum([...dimensions])),
    series: Type.Array(
      Type.Object({
        key: Type.Unsafe<Partial<Record<(typeof dimensions)[number], string>>>({
          type: 'object',
          additionalProperties: { type: 'string' },
          description: 'a value for each dimension of `by`',
        }),
        points: Type.Array(
          Type.Object({
            time: Time,
            requests: Type.Integer(),
            statuses: Type.Unsafe<Record<(typeof statuses)[number], number>>({
              type: 'object',
              properties: Object.fromEntries(
                statuses.map((status) => [status, { type: 'integer' }]),
              ),
              required: [...statuses],
            }),
            errors: Type.Integer({ description: '5xx, and requests without a status' }),
            bytesIn: NullableInteger,
            bytesOut: NullableInteger,
            retries: NullableInteger,
            latency: Latency,
            firstByte: Latency,
          }),
        ),
      }),
    ),
  },
  { title: 'Analytics' },
)

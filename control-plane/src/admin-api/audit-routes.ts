/** The audit log: searched, exported, verified. */
import { Readable } from 'node:stream'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from 'typebox'
import type { AuditRow } from '../people/audit-log.ts'
import type { AdminApiParts } from './parts.ts'
import { pageLimits, responses, Time } from './schemas.ts'
import { parseTime, TimeParameter } from './time-parameters.ts'

const tags = ['audit']
const strict = { additionalProperties: false } as const
const Text = Type.Optional(Type.String({ maxLength: 500 }))
const results = ['done', 'refused', 'failed'] as const
const choice = {
  who: Text,
  action: Type.Optional(
    Type.String({
      maxLength: 200,
      description: 'publish, promote, sign-in, join, or a request like "POST /users"',
    }),
  ),
  object: Text,
  result: Type.Optional(Type.Enum([...results])),
  from: TimeParameter,
  to: TimeParameter,
}
const Choice = Type.Object(choice, strict)
const Row = Type.Object(
  {
    number: Type.Integer(),
    time: Time,
    who: Type.String({ description: 'a user, token:NAME, admin, control-plane; empty: unknown' }),
    via: Type.String(),
    address: Type.String(),
    action: Type.String(),
    object: Type.String(),
    changes: Type.Array(
      Type.Object({
        kind: Type.String(),
        name: Type.String(),
        change: Type.String(),
        fields: Type.Array(
          Type.Object({
            field: Type.String(),
            before: Type.Optional(Type.Unknown()),
            after: Type.Optional(Type.Unknown()),
          }),
        ),
      }),
    ),
    result: Type.Enum([...results]),
    hash: Type.String({ description: 'SHA-256 over the hash of the row before and this row, hex' }),
  },
  { title: 'AuditRow' },
)
const listAudit = {
  tags,
  description: 'Newest first.',
  querystring: Type.Object(
    {
      ...choice,
      limit: Type.Optional(
        Type.Integer({ minimum: 1, maximum: pageLimits.max, default: pageLimits.default }),
      ),
      before: Type.Optional(Type.Integer({ minimum: 1, description: '`next` of the page before' })),
    },
    strict,
  ),
  response: responses(
    {
      200: Type.Object({
        items: Type.Array(Row),
        next: Type.Unsafe<number | null>({
          type: ['integer', 'null'],
          description: 'for the next, older page',
        }),
      }),
    },
    400,
    401,
  ),
}
const exportAudit = {
  tags,
  description: 'All rows of a choice, oldest first, one JSON object in a line.',
  querystring: Choice,
  response: {
    ...responses({}, 400, 401),
    200: {
      description: 'success',
      content: { 'application/x-ndjson': { schema: Type.Unsafe<Readable>({ type: 'string' }) } },
    },
  },
}
const Link = Type.Object({ number: Type.Integer(), hash: Type.String() })
const verifyAudit = {
  tags,
  description: 'Computes the chain of hashes once more, and says where it breaks.',
  response: responses(
    {
      200: Type.Object(
        {
          isIntact: Type.Boolean(),
          rows: Type.Integer({ description: 'that fit' }),
          start: Link,
          end: Link,
          problem: Type.Unsafe<string | null>({ type: ['string', 'null'] }),
        },
        { title: 'AuditVerdict' },
      ),
    },
    401,
  ),
}

export const auditRoutes: FastifyPluginAsyncTypebox<AdminApiParts> = async (app, { audit }) => {
  app.get(
    '/audit',
    { schema: listAudit },
    ({ query: { limit = pageLimits.default, before, ...query } }) =>
      audit.list(filterOf(query), { limit, ...(before !== undefined && { before }) }),
  )
  app.get('/audit/export', { schema: exportAudit }, async ({ query }, reply) => {
    const rows = audit.export(filterOf(query))
    reply.header('content-type', 'application/x-ndjson').header('cache-control', 'no-store')
    return reply.send(Readable.from(linesOf(rows)))
  })
  app.get('/audit/verify', { schema: verifyAudit }, () => audit.verify())
}

function filterOf({ from, to, ...query }: Static<typeof Choice>) {
  const fromMs = parseTime('from', from)
  const toMs = parseTime('to', to)
  return {
    ...query,
    ...(fromMs !== undefined && { fromMs }),
    ...(toMs !== undefined && { toMs }),
  }
}

async function* linesOf(pages: AsyncGenerator<readonly AuditRow[]>): AsyncGenerator<string> {
  for await (const rows of pages) yield rows.map((row) => `${JSON.stringify(row)}\n`).join('')
}

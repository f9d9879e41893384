/** Versions that are at some nodes first: how they do, and what an operator decides. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import type { By } from '../publishing/publication.ts'
import { byWhom } from './configuration-writer.ts'
import type { AdminApiParts } from './parts.ts'
import { pageOf, responses, Time } from './schemas.ts'

const tags = ['stages']
const Nullable = Type.Unsafe<number | null>({ type: ['number', 'null'] })
const Side = Type.Object({
  requests: Type.Integer(),
  share5xx: Type.Number({ description: '0 to 1' }),
  p99Ms: Type.Number(),
})
const Comparison = Type.Object({
  since: Time,
  holdLeftMs: Type.Integer(),
  selected: Side,
  others: Side,
})
const StageSchema = Type.Object(
  {
    name: Type.String(),
    state: Type.Union(
      ['running', 'paused', 'promoted', 'withdrawn'].map((state) => Type.Literal(state)),
    ),
    version: Type.Integer(),
    baseVersion: Type.Integer({ description: 'what the other nodes run while the stage is open' }),
    selector: Type.String(),
    holdMs: Type.Integer(),
    max5xx: Nullable,
    maxP99: Nullable,
    minRequests: Type.Integer(),
    author: Type.String(),
    reason: Type.String({ description: 'why it ended; empty before' }),
    startedAt: Time,
    endedAt: Type.Unsafe<string | null>({ type: ['string', 'null'], format: 'date-time' }),
    comparison: Type.Union([Comparison, Type.Null()], {
      description: 'of the open stage, since all of its nodes run it',
    }),
    nodes: Type.Array(
      Type.Object({ name: Type.String(), state: Type.String(), version: Type.Integer() }),
      { description: 'of the open stage' },
    ),
  },
  { title: 'Stage' },
)
const listStages = {
  tags,
  description: 'Newest first; one that has not ended can only be the first.',
  response: responses({ 200: pageOf(StageSchema) }, 401),
}

const decisions = {
  promote: 'Sends the version of the open stage to all nodes.',
  withdraw:
    'Makes the configuration what it was before the open stage, as a new version for all nodes.',
  pause: 'Keeps the open stage as it is until it is resumed, promoted or withdrawn.',
  resume: 'Lets a paused stage go on; its hold begins anew.',
} as const

export const stageRoutes: FastifyPluginAsyncTypebox<AdminApiParts> = async (app, { stages }) => {
  const answer = async () => {
    const items = await stages.list()
    return { items, total: items.length }
  }
  const decide = {
    promote: (by: By) => stages.promote(by),
    withdraw: (by: By) => stages.withdraw(by),
    pause: () => stages.pause(true),
    resume: () => stages.pause(false),
  }
  app.get('/stages', { schema: listStages }, answer)
  for (const decision of ['promote', 'withdraw', 'pause', 'resume'] as const) {
    const schema = {
      tags,
      description: decisions[decision],
      response: responses({ 200: pageOf(StageSchema) }, 401, 404),
    }
    app.post(`/stages/open/${decision}`, { schema }, async (request) => {
      await decide[decision](byWhom(request))
      return answer()
    })
  }
}

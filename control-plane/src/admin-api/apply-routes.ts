/** Several resources in one version, or none; and what that would change. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from 'typebox'
import { flatDocumentSchema, fromFlat, locateInList } from '../model/documents.ts'
import { limits } from '../model/limits.ts'
import { ruleProblemsIn } from '../model/rule-problems.ts'
import type { Change } from '../publishing/changes.ts'
import { prunings } from '../publishing/prunings.ts'
import type { PublishedState } from '../publishing/published-state.ts'
import { principalOf, viewGuardOf } from './access.ts'
import { ApplyAnswer, PlanAnswer } from './change-schemas.ts'
import type { AdminApiParts } from './parts.ts'
import { CreateHeaders, responses, WriteQuery } from './schemas.ts'
import type { Locate } from './validation.ts'

const strict = { additionalProperties: false } as const
const Prune = Type.Object(
  {
    selector: Type.Record(Type.String(), Type.String(), {
      minProperties: 1,
      maxProperties: limits.labelsMax,
      description: 'labels that a resource must have, all of them',
    }),
  },
  { ...strict, description: 'delete resources with these labels that the request does not have' },
)
const content = {
  resources: Type.Array(flatDocumentSchema, { maxItems: limits.resourcesPerApplyMax }),
  prune: Type.Optional(Prune),
}
const Plan = Type.Object(content, strict)
const Apply = Type.Object(
  {
    message: Type.Optional(Type.String({ maxLength: limits.messageCharactersMax })),
    ...content,
  },
  strict,
)

const tags = ['apply']
const postApply = {
  tags,
  description: 'Creates or replaces all resources in one version, or none of them.',
  querystring: WriteQuery,
  headers: CreateHeaders,
  body: Apply,
  response: responses({ 200: ApplyAnswer }, 400, 401, 409, 413, 415, 422),
}
const postPlan = {
  tags,
  description: 'What `apply` would change. Changes nothing.',
  body: Plan,
  response: responses({ 200: PlanAnswer }, 400, 401, 409, 413, 415, 422),
}

export const applyRoutes: FastifyPluginAsyncTypebox<AdminApiParts> = async (
  app,
  { publisher, writer },
) => {
  const locate: Locate = (problems, body, query) => {
    // What a draft has is not looked up for a request that is refused anyway.
    const isDraft = (query as Static<typeof WriteQuery> | undefined)?.draft !== undefined
    const { configuration } = publisher.state
    const broken = ruleProblemsIn(body, problems, isDraft ? undefined : configuration)
    return [...locateInList(problems, body), ...broken]
  }
  app.post(
    '/apply',
    { schema: postApply, config: { locate, isIdempotent: true } },
    (request, reply) => {
      const { body } = request
      const message = body.message ?? `apply ${countOf(body.resources.length)}`
      return writer.writeAll(request, reply, { changes: changesOf(body), message })
    },
  )
  app.post('/plan', { schema: postPlan, config: { locate } }, (request) =>
    publisher.plan({
      author: '',
      guard: viewGuardOf(principalOf(request)),
      message: '',
      changes: changesOf(request.body),
    }),
  )
}

function changesOf({ resources, prune }: Static<typeof Plan>) {
  const documents = resources.map(fromFlat)
  const puts = documents.map((document): Change => ({ op: 'put', document }))
  return (state: PublishedState): readonly Change[] =>
    prune === undefined ? puts : [...puts, ...prunings(documents, prune.selector, state)]
}

function countOf(resources: number): string {
  return resources === 1 ? '1 resource' : `${resources} resources`
}

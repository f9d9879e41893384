/** What the write routes share: a change is published, or put into the draft that the request names. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { StageWatch } from '../fleet/stage-watch.ts'
import { describe, type Problem } from '../model/kinds.ts'
import { Refusal } from '../model/refusal.ts'
import { parseStagePlan, type StagePlan } from '../model/stage-plan.ts'
import { type Change, changedId } from '../publishing/changes.ts'
import type { Drafts } from '../publishing/drafts.ts'
import type { Precondition } from '../publishing/preconditions.ts'
import type { ChangeRequest, Publication } from '../publishing/publication.ts'
import type { PublishedState } from '../publishing/published-state.ts'
import type { Publisher } from '../publishing/publisher.ts'
import { guardOf, principalOf } from './access.ts'
import { originOf } from './auditing.ts'
import type { IdempotencyKeys } from './idempotency.ts'
import { preconditionsOf } from './precondition-headers.ts'

interface WriteQuery {
  readonly draft?: string
  readonly message?: string
  readonly stage?: string
}

export interface WriterParts {
  readonly publisher: Publisher
  readonly drafts: Drafts
  readonly keys: IdempotencyKeys
  readonly stages: Pick<StageWatch, 'requireNodes'>
}

export class ConfigurationWriter {
  readonly #publisher: Publisher
  readonly #drafts: Drafts
  readonly #keys: IdempotencyKeys
  readonly #stages: Pick<StageWatch, 'requireNodes'>

  constructor({ publisher, drafts, keys, stages }: WriterParts) {
    this.#publisher = publisher
    this.#drafts = drafts
    this.#keys = keys
    this.#stages = stages
  }

  /** Returns the state to show the outcome from. */
  async write(
    request: FastifyRequest,
    reply: FastifyReply,
    change: Exclude<Change, { op: 'restore' }>,
  ): Promise<PublishedState> {
    const id = changedId(change)
    const message = `${verbs[change.op]} ${describe(id.kind, id.name)}`
    await this.writeAll(request, reply, {
      changes: [change],
      message,
      preconditions: preconditionsOf(request.headers, id),
    })
    return this.state(request.query)
  }

  /** `message` is for requests that have none of their own. */
  async writeAll(
    request: FastifyRequest,
    reply: FastifyReply,
    wanted: Pick<ChangeRequest, 'changes' | 'message' | 'keys'> & {
      readonly preconditions?: readonly Precondition[]
    },
  ): Promise<Partial<Publication> & Pick<Publication, 'changes'>> {
    const { draft } = request.query as WriteQuery
    const stage = await this.stageOf(request)
    if (draft !== undefined) {
      if (stage !== undefined) throw new Refusal('malformed', [stageOfDraft])
      const outcome = await this.#drafts.write(draft, { ...wanted, ...byWhom(request) })
      reply.header('sluice-draft', draft)
      const changes = outcome.changes.map((change) => ({ ...change, fields: [] }))
      request.auditNote = { object: `draft ${draft}`, changes }
      return outcome
    }
    const alongside = this.#keys.receipt(request)
    const publication = await this.#publisher.publish({
      ...wanted,
      ...byWhom(request),
      stage,
      message: messageOf(request) ?? wanted.message,
      ...(alongside !== undefined && { alongside }),
    })
    reply.header('sluice-version', publication.version)
    return publication
  }

  /** Which nodes are to have the version first; undefined: all at once. */
  async stageOf({ query }: Pick<FastifyRequest, 'query'>): Promise<StagePlan | undefined> {
    const { stage } = query as WriteQuery
    if (stage === undefined) return undefined
    const plan = parseStagePlan(stage)
    await this.#stages.requireNodes(plan)
    return plan
  }

  /** The newest configuration, or that of the draft which the query names. */
  async state(query: unknown): Promise<PublishedState> {
    // The cast holds: the routes' schemas have the field.
    const { draft } = query as WriteQuery
    return draft === undefined ? this.#publisher.state : this.#drafts.state(draft)
  }
}

/** Who is the author of a change, and what keeps them from changing what they may not. */
export function byWhom(request: FastifyRequest) {
  const principal = principalOf(request)
  return { author: principal.name, origin: originOf(request), guard: guardOf(principal) }
}

/** What the request says it is for. */
export function messageOf({ query, headers }: FastifyRequest): string | undefined {
  const { message } = query as WriteQuery
  const header = headers['sluice-message']
  return message ?? (typeof header === 'string' ? header : undefined)
}

const stageOfDraft: Problem = Object.freeze({
  kind: '',
  name: '',
  field: 'stage',
  reason: 'belongs to publishing, not to writing a draft',
})

const verbs = { create: 'create', replace: 'replace', put: 'set', patch: 'patch', remove: 'delete' }

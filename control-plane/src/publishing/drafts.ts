/**
 * Named drafts: changes that are gathered and then published as one version. A draft keeps, for each resource
 * that it changes, what was published when it was changed, so that what is published meanwhile can be told
 * from the draft's own changes.
 */
import { isDeepStrictEqual } from 'node:util'
import { idOf, type ResourceId } from '../model/configuration.ts'
import { differences, type ResourceDifference } from '../model/difference.ts'
import type { Problem } from '../model/kinds.ts'
import { limits } from '../model/limits.ts'
import { Refusal } from '../model/refusal.ts'
import type { Resource } from '../model/resources.ts'
import type { Database } from '../store/database.ts'
import {
  countDraftChanges,
  type DraftRow,
  deleteDraft,
  draftChanges,
  findDraft,
  listDrafts,
  writeDraft,
} from '../store/drafts.ts'
import type { Change } from './changes.ts'
import { conflictProblem, type DraftChange, readChange } from './draft-view.ts'
import { requirePermission } from './guard.ts'
import { requirePreconditions } from './preconditions.ts'
import type { ChangeOutcome, ChangeRequest, Publication } from './publication.ts'
import type { PublishedState } from './published-state.ts'
import type { Publisher } from './publisher.ts'

export interface DraftSummary {
  readonly name: string
  readonly author: string
  /** The newest version when the draft was begun. */
  readonly baseVersion: number
  readonly createdAt: string
  readonly updatedAt: string
  readonly resources: number
}

export interface Draft extends DraftSummary {
  /** Against the newest version. */
  readonly changes: readonly ResourceDifference[]
  readonly conflicts: readonly Problem[]
}

export interface DraftOutcome {
  readonly draft: string
  readonly changes: readonly ChangeOutcome[]
}

export interface DraftCheck {
  readonly isPublishable: boolean
  readonly problems: readonly Problem[]
  readonly warnings: readonly Problem[]
}

type DraftRequest = Pick<ChangeRequest, 'author' | 'preconditions' | 'guard'> & {
  readonly changes: readonly Change[] | ((state: PublishedState) => readonly Change[])
}

export class Drafts {
  readonly #db: Database
  readonly #publisher: Publisher
  readonly #now: () => number
  #turn: Promise<unknown> = Promise.resolve()

  constructor(options: {
    readonly db: Database
    readonly publisher: Publisher
    readonly now: () => number
  }) {
    this.#db = options.db
    this.#publisher = options.publisher
    this.#now = options.now
  }

  async list(): Promise<DraftSummary[]> {
    const counts = await countDraftChanges(this.#db)
    return (await listDrafts(this.#db)).map((row) => toSummary(row, counts.get(row.name) ?? 0))
  }

  async find(name: string): Promise<Draft> {
    const row = await this.#require(name)
    const changes = await this.#changes(name)
    const found = changes.flatMap(({ id, resource }) => {
      const before = this.#publisher.state.find(id)?.resource
      return differences(before ? [before] : [], resource ? [resource] : [])
    })
    return {
      ...toSummary(row, changes.length),
      changes: found,
      conflicts: problemsOf(changes),
    }
  }

  /** The whole configuration as it would be with the draft. */
  async state(name: string): Promise<PublishedState> {
    await this.#require(name)
    return this.#stateWith(await this.#changes(name))
  }

  /** Puts changes into the draft, which begins with its first one. */
  write(name: string, request: DraftRequest): Promise<DraftOutcome> {
    return this.#inTurn(() => this.#write(name, request))
  }

  /** Everything that keeps the draft from being published. */
  async check(name: string): Promise<DraftCheck> {
    await this.#require(name)
    const changes = await this.#changes(name)
    const conflicts = problemsOf(changes)
    try {
      const { warnings } = await this.#publisher.plan({
        author: '',
        message: '',
        changes: (state) => changes.filter((one) => isEffective(one, state)).map(toChange),
      })
      return { isPublishable: conflicts.length === 0, problems: conflicts, warnings }
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      return { isPublishable: false, problems: [...conflicts, ...error.problems], warnings: [] }
    }
  }

  /** Publishes the draft as one version and ends it: both or neither. */
  publish(
    name: string,
    request: Omit<ChangeRequest, 'changes' | 'alongside'>,
  ): Promise<Publication> {
    return this.#inTurn(async () => {
      await this.#require(name)
      const rows = await draftChanges(this.#db, name)
      const published = await this.#publisher.publish({
        ...request,
        changes: (state) => {
          const changes = rows.map((row) => readChange(row, state))
          const conflicts = problemsOf(changes)
          if (conflicts.length > 0) throw new Refusal('conflict', conflicts)
          return changes.filter((change) => isEffective(change, state)).map(toChange)
        },
        alongside: async (transaction) => {
          await deleteDraft(transaction, name)
        },
      })
      await this.#publisher.forgetUnusedKeys()
      return published
    })
  }

  discard(name: string): Promise<void> {
    return this.#inTurn(async () => {
      if (!(await deleteDraft(this.#db, name))) throw notFound(name)
      await this.#publisher.forgetUnusedKeys()
    })
  }

  async #write(name: string, { author, changes, preconditions = [], guard }: DraftRequest) {
    const row = await findDraft(this.#db, name)
    await this.#requireRoom(row)
    const state = this.#stateWith(await this.#changes(name))
    requirePreconditions(preconditions, state)
    const wanted = typeof changes === 'function' ? changes(state) : changes
    const { resources, removed } = await this.#publisher.resolve(wanted, state)
    if (guard !== undefined) requirePermission(guard, { put: resources, removed }, state)
    const nowMs = this.#now()
    const ids = [...resources.map(idOf), ...removed]
    const bodies = new Map(resources.map((resource) => [keyOf(idOf(resource)), resource]))
    const rows = ids.map((id) => this.#toRow(name, id, bodies.get(keyOf(id)), nowMs))
    await writeDraft(this.#db, {
      draft: {
        name,
        author,
        base_version: Number(this.#publisher.current()?.number ?? 0n),
        created_at_ms: nowMs,
        updated_at_ms: nowMs,
      },
      changes: rows.filter(({ base, body }) => base !== body),
      dropped: rows.filter(({ base, body }) => base === body),
    })
    return { draft: name, changes: [...outcomesOf(resources, state), ...removed.map(toRemoved)] }
  }

  #toRow(draft: string, id: ResourceId, resource: Resource | undefined, nowMs: number) {
    const base = this.#publisher.state.find(id)?.resource
    return {
      draft,
      ...id,
      base: base === undefined ? null : JSON.stringify(base.spec),
      body: resource === undefined ? null : JSON.stringify(resource.spec),
      updated_at_ms: nowMs,
    }
  }

  async #requireRoom(row: DraftRow | undefined): Promise<void> {
    if (row !== undefined || (await listDrafts(this.#db)).length < limits.draftsMax) return
    const detail = `there are ${limits.draftsMax} drafts already; publish or discard one`
    throw new Refusal('invalid', [], detail)
  }

  async #require(name: string): Promise<DraftRow> {
    const row = await findDraft(this.#db, name)
    if (row === undefined) throw notFound(name)
    return row
  }

  async #changes(name: string): Promise<DraftChange[]> {
    const { state } = this.#publisher
    return (await draftChanges(this.#db, name)).map((row) => readChange(row, state))
  }

  #stateWith(changes: readonly DraftChange[]): PublishedState {
    const { state } = this.#publisher
    const put = changes.flatMap(({ resource, updatedAtMs }) =>
      resource === undefined ? [] : [this.#publisher.recordOf(resource, updatedAtMs)],
    )
    const removed = changes.filter(({ resource }) => resource === undefined).map(({ id }) => id)
    return state.with(put, removed)
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#turn.then(work)
    // One that was refused must not refuse the next one.
    this.#turn = result.catch(() => undefined)
    return result
  }
}

function toChange({ id, resource }: DraftChange): Change {
  return resource === undefined ? { op: 'remove', ...id } : { op: 'restore', resource }
}

/** What was removed on both sides is gone already. */
function isEffective({ id, resource }: DraftChange, state: PublishedState): boolean {
  return resource !== undefined || state.find(id) !== undefined
}

function problemsOf(changes: readonly DraftChange[]): Problem[] {
  return changes.flatMap((change) =>
    change.conflicts.map((field) => conflictProblem(change, field)),
  )
}

function outcomesOf(resources: readonly Resource[], state: PublishedState): ChangeOutcome[] {
  return resources.map((resource) => {
    const id = idOf(resource)
    const before = state.find(id)
    if (before === undefined) return { ...id, change: 'created' }
    const isSame = isDeepStrictEqual(before.resource, resource)
    return { ...id, change: isSame ? 'unchanged' : 'replaced' }
  })
}

function toRemoved(id: ResourceId): ChangeOutcome {
  return { ...id, change: 'removed' }
}

function toSummary(row: DraftRow, resources: number): DraftSummary {
  return {
    name: row.name,
    author: row.author,
    baseVersion: row.base_version,
    createdAt: new Date(row.created_at_ms).toISOString(),
    updatedAt: new Date(row.updated_at_ms).toISOString(),
    resources,
  }
}

function notFound(name: string): Refusal {
  return new Refusal('not-found', [], `there is no draft "${name}"`)
}

function keyOf({ kind, name }: ResourceId): string {
  return `${kind} ${name}`
}

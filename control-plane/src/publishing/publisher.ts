/**
 * Turns accepted changes into numbered versions: resolves and checks them against the whole, stores version
 * and changed resources in one transaction, and only then tells the listeners. One change at a time; the
 * newest version with its encoded resources is kept in memory, so reading never touches the database.
 */
import type { CertificateAuthority } from '../certificates/authority.ts'
import {
  type Configuration,
  DEFAULT_SETTINGS,
  idOf,
  keyOf,
  type ResourceId,
} from '../model/configuration.ts'
import { differenceOf } from '../model/difference.ts'
import type { Problem } from '../model/kinds.ts'
import type { Labels } from '../model/labels.ts'
import { limits } from '../model/limits.ts'
import { Refusal } from '../model/refusal.ts'
import type { Resource } from '../model/resources.ts'
import { isInStage, type StagePlan } from '../model/stage-plan.ts'
import { findWarnings } from '../model/warnings.ts'
import type { Database } from '../store/database.ts'
import { insertStage, updateStage } from '../store/stages.ts'
import type { Vault } from '../store/vault.ts'
import { CertificateDesk, isDueForRenewal } from './certificates.ts'
import { type Change, resolveChanges } from './changes.ts'
import { requirePermission } from './guard.ts'
import { KeyRing, type PrivateKey } from './key-ring.ts'
import { loadOpenStage, type OpenStage, storePromotion, toStageRow } from './open-stage.ts'
import { requirePreconditions } from './preconditions.ts'
import { type Candidate, prepare, resolveDocuments, toCandidate } from './preparation.ts'
import {
  type By,
  type ChangeRequest,
  type Decision,
  isUnchanged,
  outcomeOf,
  type Plan,
  type Publication,
  type ResolvedResources,
} from './publication.ts'
import type { PublishedState, ResourceRecord } from './published-state.ts'
import type { PublishedVersion, VersionSource } from './published-version.ts'
import { type Alongside, loadNewest, type NewestVersion, storeVersion } from './version-records.ts'

export interface PublisherOptions {
  readonly db: Database
  readonly vault: Vault
  readonly authority: CertificateAuthority
  readonly now: () => number
}

interface VersionContent extends By {
  readonly message: string
  readonly put: readonly Candidate[]
  readonly removed: readonly ResourceId[]
  readonly keys: readonly PrivateKey[]
}

type Listener = (version: PublishedVersion) => void

const noBase: Problem = Object.freeze({
  kind: '',
  name: '',
  field: 'stage',
  reason: 'has no version before it that nodes could go back to',
})

/** Names the program itself as the author of a version. */
const systemAuthor = 'control-plane'

export class Publisher implements VersionSource {
  readonly #db: Database
  readonly #now: () => number
  readonly #ring: KeyRing
  readonly #desk: CertificateDesk
  readonly #listeners = new Set<Listener>()
  readonly #stageListeners = new Set<() => void>()
  #newest: NewestVersion
  #stage: OpenStage | undefined
  #turn: Promise<unknown> = Promise.resolve()

  private constructor(options: PublisherOptions, ring: KeyRing, newest: NewestVersion) {
    this.#db = options.db
    this.#now = options.now
    this.#ring = ring
    this.#desk = new CertificateDesk(options.authority, ring, options.now)
    this.#newest = newest
  }

  /** Goes on with the newest version of the database. */
  static async open(options: PublisherOptions): Promise<Publisher> {
    const ring = await KeyRing.open(options.db, options.vault)
    const newest = await loadNewest(options.db, ring)
    const publisher = new Publisher(options, ring, newest)
    publisher.#stage = await loadOpenStage(options.db, ring)
    await publisher.#encodeAnew()
    return publisher
  }

  /** The newest configuration. */
  get state(): PublishedState {
    return this.#newest.state
  }

  /** Of the newest version; undefined before the first. */
  get publishedAtMs(): number | undefined {
    return this.#newest.row?.created_at_ms
  }

  /** The private key of a certificate, in the clear: for sealing only. */
  findKey(publicKeyId: string): string | undefined {
    return this.#ring.find(publicKeyId)
  }

  current(): PublishedVersion | undefined {
    return this.#newest.published
  }

  currentFor(node: { readonly name: string; readonly labels: Labels }) {
    const stage = this.#stage
    if (stage === undefined || isInStage(stage.plan.selector, node)) return this.current()
    return stage.base.published
  }

  /** Undefined: every node should run the newest version. */
  get stage(): OpenStage | undefined {
    return this.#stage
  }

  onStageEnded(listener: () => void): () => void {
    this.#stageListeners.add(listener)
    return () => this.#stageListeners.delete(listener)
  }

  onPublished(listener: Listener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** All changes in one version or none: a Refusal says why not. What changes nothing publishes nothing. */
  publish(request: ChangeRequest): Promise<Publication> {
    return this.#inTurn(() => this.#publish(request))
  }

  /** What `publish` would do. Refuses what it would refuse. */
  plan(request: ChangeRequest): Promise<Plan> {
    return this.#inTurn(async () => {
      const { candidates, outcomes, warnings } = await this.#decide(request)
      const planned = new Map(candidates.map(({ resource }) => [keyOf(idOf(resource)), resource]))
      const changes = outcomes.map((outcome) => {
        const before = this.state.find(outcome)?.resource
        const { fields = [] } = differenceOf(before, planned.get(keyOf(outcome))) ?? {}
        return { ...outcome, fields }
      })
      return { baseVersion: this.#newest.row?.number ?? 0, changes, warnings }
    })
  }

  /**
   * What changes come to on a state that need not be a published one: certificates are read or issued, fields
   * are checked, references are not. The keys are stored.
   */
  async resolve(changes: readonly Change[], state: PublishedState): Promise<ResolvedResources> {
    const { put, restored, removed } = resolveChanges(changes, state.configuration)
    const { resources, keys } = await resolveDocuments({ put, restored }, state, this.#desk)
    await this.#ring.store(this.#db, keys, this.#now())
    this.#ring.remember(keys)
    return { resources, removed }
  }

  /** Resources as records of a state that is not published. */
  recordOf(resource: Resource, updatedAtMs: number): ResourceRecord {
    return this.#toRecord(
      toCandidate(resource, (id) => this.#ring.find(id)),
      updatedAtMs,
    )
  }

  /** Lets all nodes have the version of the stage that is open. */
  promote(reason: string, by: By = { author: systemAuthor }): Promise<void> {
    return this.#inTurn(async () => {
      const { version } = this.#requireStage()
      await storePromotion(this.#db, version, { reason, by, timeMs: this.#now() })
      this.#stage = undefined
      for (const listener of this.#stageListeners) listener()
    })
  }

  /** Makes the configuration what it was before the stage that is open, as a version for all nodes. */
  withdraw(reason: string, by: By = { author: systemAuthor }): Promise<void> {
    return this.#inTurn(async () => {
      const { version, base, plan } = this.#requireStage()
      const { state } = this
      const message = `withdraw version ${version} of stage ${plan.name}: ${reason}`
      await this.#commit({
        ...by,
        message: message.slice(0, limits.messageCharactersMax),
        put: [...base.state.records].filter((record) => !isUnchanged(record, state)),
        removed: Array.from(state.records, ({ resource }) => idOf(resource)).filter(
          (id) => base.state.find(id) === undefined,
        ),
        keys: [],
        alongside: (transaction) =>
          updateStage(transaction, version, {
            state: 'withdrawn',
            reason,
            ended_at_ms: this.#now(),
          }),
        stage: undefined,
      })
      for (const listener of this.#stageListeners) listener()
    })
  }

  /** A paused stage is neither promoted nor withdrawn by itself. */
  pauseStage(isPaused: boolean): Promise<void> {
    return this.#inTurn(async () => {
      const stage = this.#requireStage()
      const state = isPaused ? 'paused' : 'running'
      await updateStage(this.#db, stage.version, { state })
      this.#stage = { ...stage, isPaused }
    })
  }

  /** Issues internal certificates anew of which two thirds of the life are over. Returns their names. */
  async renewInternalCertificates(): Promise<string[]> {
    const due = [...this.state.configuration.certificates.values()].filter(
      (certificate) =>
        certificate.source === 'internal' && isDueForRenewal(certificate, this.#now()),
    )
    // While a stage is open nothing is published; there is a third of a life left to come again.
    if (due.length === 0 || this.#stage !== undefined) return []
    const changes = due.map(({ name, labels, hosts }): Change => {
      const spec = { name, labels, source: 'internal' as const, hosts }
      return { op: 'put', document: { kind: 'certificate', spec } }
    })
    await this.publish({ author: systemAuthor, message: 'renew internal certificates', changes })
    return due.map(({ name }) => name)
  }

  /** The newest configuration once more, under a number after this one. Returns the newest version's number. */
  publishBeyond(number: number, by: By): Promise<number> {
    return this.#inTurn(async () => {
      this.#requireNoStage()
      const { row } = this.#newest
      if (row !== undefined && row.number <= number) {
        const message = `goes on after version ${number}`
        const nothing = { put: [], removed: [], keys: [] }
        await this.#commit({ ...by, message, ...nothing, numberMin: number + 1 })
      }
      return this.#newest.row?.number ?? 0
    })
  }

  /** In turn, so that no version that is being stored finds its key gone. Not while a draft is written. */
  readonly forgetUnusedKeys = () => this.#inTurn(() => this.#ring.forgetUnused(this.#db))

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#turn.then(work)
    // A refused change must not refuse the next one.
    this.#turn = result.catch(() => undefined)
    return result
  }

  async #publish(request: ChangeRequest): Promise<Publication> {
    const { author, origin, message, alongside, stage: plan } = request
    const { candidates, put, removed, keys, outcomes, warnings } = await this.#decide(request)
    if (put.length > 0 || removed.length > 0) {
      const whole = [...put, ...this.#firstSettings(candidates)]
      const version = { author, ...(origin && { origin }), message, put: whole, removed, keys }
      if (plan === undefined) await this.#commit({ ...version, alongside })
      else await this.#commitStaged(version, plan, alongside)
    } else {
      await alongside?.(this.#db)
    }
    return { version: this.#newest.row?.number ?? 0, changes: outcomes, warnings }
  }

  async #decide({
    changes,
    keys: given = [],
    preconditions = [],
    guard,
  }: ChangeRequest): Promise<Decision> {
    this.#requireNoStage()
    const before = this.state
    requirePreconditions(preconditions, before)
    const wanted = typeof changes === 'function' ? changes(before) : changes
    const resolved = resolveChanges(wanted, before.configuration)
    const { candidates, keys, next } = await prepare(resolved, before, {
      desk: this.#desk,
      ring: this.#ring,
      given,
    })
    const { removed } = resolved
    const put = candidates.filter((candidate) => !isUnchanged(candidate, before))
    if (guard !== undefined) {
      const resources = put.map(({ resource }) => resource)
      requirePermission(guard, { put: resources, removed }, before)
    }
    return {
      candidates,
      put,
      removed,
      keys,
      outcomes: [
        ...candidates.map((candidate) => outcomeOf(candidate, before)),
        ...removed.map((id) => ({ ...id, change: 'removed' as const })),
      ],
      warnings: this.#warnings(candidates, next),
    }
  }

  /** Nodes get settings with every version, so the first one brings the defaults along. */
  #firstSettings(candidates: readonly Candidate[]): Candidate[] {
    const hasSettings =
      this.state.configuration.settings !== undefined ||
      candidates.some(({ resource }) => resource.kind === 'settings')
    return hasSettings ? [] : [toCandidate({ kind: 'settings', spec: DEFAULT_SETTINGS }, () => '')]
  }

  async #commitStaged(
    version: VersionContent,
    plan: StagePlan,
    alongside: Alongside | undefined,
  ): Promise<void> {
    const base = this.#newest
    if (base.row === undefined) throw new Refusal('malformed', [noBase])
    const { author } = version
    const number = base.row.number + 1
    const startedAtMs = this.#now()
    const stage = { plan, version: number, base, author, isPaused: false, startedAtMs }
    await this.#commit({
      ...version,
      stage,
      alongside: async (transaction) => {
        await alongside?.(transaction)
        await insertStage(transaction, toStageRow(stage))
      },
    })
  }

  #requireStage(): OpenStage {
    if (this.#stage === undefined) throw new Refusal('not-found', [], 'no stage is open')
    return this.#stage
  }

  #requireNoStage(): void {
    if (this.#stage === undefined) return
    const { plan, version } = this.#stage
    const detail = `version ${version} is in stage "${plan.name}", and nothing else is published until it is promoted or withdrawn: sluice stage promote, or sluice stage withdraw`
    throw new Refusal('staged', [], detail)
  }

  async #commit(
    draft: VersionContent & {
      readonly alongside?: Alongside | undefined
      readonly numberMin?: number
      readonly stage?: OpenStage | undefined
    },
  ): Promise<void> {
    const createdAtMs = this.#now()
    const put = draft.put.map((candidate) => this.#toRecord(candidate, createdAtMs))
    const next = { ...draft, put, createdAtMs }
    this.#newest = await storeVersion(this.#db, this.#ring, this.#newest, next)
    this.#ring.remember(draft.keys)
    if ('stage' in draft) this.#stage = draft.stage
    const { published } = this.#newest
    if (published === undefined) return
    for (const listener of this.#listeners) listener(published)
  }

  #toRecord(candidate: Candidate, nowMs: number): ResourceRecord {
    const existing = this.state.find(idOf(candidate.resource))
    return {
      ...candidate,
      revision: (existing?.revision ?? 0) + 1,
      createdAtMs: existing?.createdAtMs ?? nowMs,
      updatedAtMs: nowMs,
    }
  }

  /**
   * A release may encode the same resources differently. Then what is stored goes out as a version of its
   * own, since a number never changes its hash.
   */
  async #encodeAnew(): Promise<void> {
    const { row, published, state } = this.#newest
    if (row === undefined || row.hash === published?.hash) return
    const put = [...state.records]
    await this.#commit({
      author: systemAuthor,
      message: 'encoded anew',
      put,
      removed: [],
      keys: [],
    })
  }

  #warnings(candidates: readonly Candidate[], next: Configuration): Problem[] {
    const written = candidates.map(({ resource }) => idOf(resource))
    return findWarnings(next, written, this.#now()).slice(0, limits.problemsMax)
  }
}

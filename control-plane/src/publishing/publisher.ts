/**
 * Turns accepted changes into numbered versions: resolves and checks them against the whole, stores version
 * and changed resources in one transaction, and only then tells the listeners. One change at a time; the
 * newest version with its encoded resources is kept in memory, so reading never touches the database.
 */
import { isDeepStrictEqual } from 'node:util'
import type { CertificateAuthority } from '../certificates/authority.ts'
import {
  type Configuration,
  DEFAULT_SETTINGS,
  idOf,
  keyOf,
  type ResourceId,
} from '../model/configuration.ts'
import { differenceOf, type FieldDifference } from '../model/difference.ts'
import type { Problem } from '../model/kinds.ts'
import { limits } from '../model/limits.ts'
import type { Resource } from '../model/resources.ts'
import { findWarnings } from '../model/warnings.ts'
import type { Database } from '../store/database.ts'
import type { Vault } from '../store/vault.ts'
import { CertificateDesk, isDueForRenewal } from './certificates.ts'
import { type Change, resolveChanges } from './changes.ts'
import { KeyRing, type PrivateKey } from './key-ring.ts'
import { type Precondition, requirePreconditions } from './preconditions.ts'
import { type Candidate, prepare, resolveDocuments, toCandidate } from './preparation.ts'
import type { PublishedState, ResourceRecord } from './published-state.ts'
import type { PublishedVersion, VersionSource } from './published-version.ts'
import { type Alongside, loadNewest, type NewestVersion, storeVersion } from './version-records.ts'

export interface PublisherOptions {
  readonly db: Database
  readonly vault: Vault
  readonly authority: CertificateAuthority
  readonly now: () => number
}

export interface ChangeRequest {
  readonly author: string
  readonly message: string
  /** As a function: decided by the newest state, in the turn of this request. */
  readonly changes: readonly Change[] | ((state: PublishedState) => readonly Change[])
  readonly preconditions?: readonly Precondition[]
  /** Private keys of certificates that are restored, where they may not be stored yet. */
  readonly keys?: readonly PrivateKey[]
  /** What is stored in the transaction of the version, or not at all. */
  readonly alongside?: Alongside
}

export interface ChangeOutcome extends ResourceId {
  readonly change: 'created' | 'replaced' | 'unchanged' | 'removed'
}

export interface Publication {
  /** The version that holds the changes; 0: nothing was ever published. */
  readonly version: number
  readonly changes: readonly ChangeOutcome[]
  /** About the resources that were written. */
  readonly warnings: readonly Problem[]
}

export interface PlannedOutcome extends ChangeOutcome {
  readonly fields: readonly FieldDifference[]
}

/** What a request would do if it were published now. */
export interface Plan {
  /** The version that the changes would be made to; 0: there is none. */
  readonly baseVersion: number
  readonly changes: readonly PlannedOutcome[]
  readonly warnings: readonly Problem[]
}

/** A request against the newest state, checked, and not made yet. */
interface Decision {
  readonly candidates: readonly Candidate[]
  /** Of the candidates, those that are not what there is already. */
  readonly put: readonly Candidate[]
  readonly removed: readonly ResourceId[]
  readonly keys: readonly PrivateKey[]
  readonly outcomes: readonly ChangeOutcome[]
  readonly warnings: readonly Problem[]
}

export interface ResolvedResources {
  readonly resources: readonly Resource[]
  readonly removed: readonly ResourceId[]
}

type Listener = (version: PublishedVersion) => void

/** Names the program itself as the author of a version. */
const systemAuthor = 'control-plane'

export class Publisher implements VersionSource {
  readonly #db: Database
  readonly #now: () => number
  readonly #ring: KeyRing
  readonly #desk: CertificateDesk
  readonly #listeners = new Set<Listener>()
  #newest: NewestVersion
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

  /** Issues internal certificates anew of which two thirds of the life are over. Returns their names. */
  async renewInternalCertificates(): Promise<string[]> {
    const due = [...this.state.configuration.certificates.values()].filter(
      (certificate) =>
        certificate.source === 'internal' && isDueForRenewal(certificate, this.#now()),
    )
    if (due.length === 0) return []
    const changes = due.map(({ name, labels, hosts }): Change => {
      const spec = { name, labels, source: 'internal' as const, hosts }
      return { op: 'put', document: { kind: 'certificate', spec } }
    })
    await this.publish({ author: systemAuthor, message: 'renew internal certificates', changes })
    return due.map(({ name }) => name)
  }

  /** The newest configuration once more, under a number after this one. Returns the newest version's number. */
  publishBeyond(number: number, author: string): Promise<number> {
    return this.#inTurn(async () => {
      const { row } = this.#newest
      if (row !== undefined && row.number <= number) {
        const message = `goes on after version ${number}`
        const nothing = { put: [], removed: [], keys: [] }
        await this.#commit({ author, message, ...nothing, numberMin: number + 1 })
      }
      return this.#newest.row?.number ?? 0
    })
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#turn.then(work)
    // A refused change must not refuse the next one.
    this.#turn = result.catch(() => undefined)
    return result
  }

  async #publish(request: ChangeRequest): Promise<Publication> {
    const { author, message, alongside } = request
    const { candidates, put, removed, keys, outcomes, warnings } = await this.#decide(request)
    if (put.length > 0 || removed.length > 0) {
      const whole = [...put, ...this.#firstSettings(candidates)]
      await this.#commit({ author, message, put: whole, removed, keys, alongside })
    } else {
      await alongside?.(this.#db)
    }
    return { version: this.#newest.row?.number ?? 0, changes: outcomes, warnings }
  }

  async #decide({
    changes,
    keys: given = [],
    preconditions = [],
  }: ChangeRequest): Promise<Decision> {
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
    return {
      candidates,
      put: candidates.filter((candidate) => !isUnchanged(candidate, before)),
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

  async #commit(draft: {
    readonly author: string
    readonly message: string
    readonly put: readonly Candidate[]
    readonly removed: readonly ResourceId[]
    readonly keys: readonly PrivateKey[]
    readonly alongside?: Alongside | undefined
    readonly numberMin?: number
  }): Promise<void> {
    const createdAtMs = this.#now()
    const put = draft.put.map((candidate) => this.#toRecord(candidate, createdAtMs))
    const next = { ...draft, put, createdAtMs }
    this.#newest = await storeVersion(this.#db, this.#ring, this.#newest, next)
    this.#ring.remember(draft.keys)
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

function isUnchanged({ resource, digest }: Candidate, before: PublishedState): boolean {
  const existing = before.find(idOf(resource))
  if (existing === undefined || !Buffer.from(existing.digest).equals(digest)) return false
  // Labels, and where a certificate came from, do not reach the nodes, so the digest does not tell.
  return isDeepStrictEqual(existing.resource.spec, resource.spec)
}

function outcomeOf(candidate: Candidate, before: PublishedState): ChangeOutcome {
  const id = idOf(candidate.resource)
  if (before.find(id) === undefined) return { ...id, change: 'created' }
  return { ...id, change: isUnchanged(candidate, before) ? 'unchanged' : 'replaced' }
}

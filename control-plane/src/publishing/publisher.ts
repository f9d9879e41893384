/**
 * Turns accepted changes into numbered versions: resolves and checks them against the whole, stores version
 * and changed resources in one transaction, and only then tells the listeners. One change at a time; the
 * newest version with its encoded resources is kept in memory, so reading never touches the database.
 */
import type { CertificateAuthority } from '../certificates/authority.ts'
import { DEFAULT_SETTINGS, idOf, keyOf, type ResourceId } from '../model/configuration.ts'
import type { Problem } from '../model/kinds.ts'
import { limits } from '../model/limits.ts'
import { findWarnings } from '../model/warnings.ts'
import type { Database } from '../store/database.ts'
import type { Vault } from '../store/vault.ts'
import { CertificateDesk, isDueForRenewal } from './certificates.ts'
import { type Change, resolveChanges } from './changes.ts'
import { KeyRing, type PrivateKey } from './key-ring.ts'
import { type Candidate, prepare, toCandidate } from './preparation.ts'
import type { PublishedState, ResourceRecord } from './published-state.ts'
import type { PublishedVersion, VersionSource } from './published-version.ts'
import { loadNewest, type NewestVersion, storeVersion } from './version-records.ts'

export interface PublisherOptions {
  readonly db: Database
  readonly vault: Vault
  readonly authority: CertificateAuthority
  readonly now: () => number
}

export interface ChangeRequest {
  readonly author: string
  readonly message: string
  readonly changes: readonly Change[]
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

  current(): PublishedVersion | undefined {
    return this.#newest.published
  }

  onPublished(listener: Listener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** All changes in one version or none: a Refusal says why not. What changes nothing publishes nothing. */
  publish(request: ChangeRequest): Promise<Publication> {
    const result = this.#turn.then(() => this.#publish(request))
    // A refused change must not refuse the next one.
    this.#turn = result.catch(() => undefined)
    return result
  }

  /** Issues internal certificates anew of which two thirds of the life are over. Returns their names. */
  async renewInternalCertificates(): Promise<string[]> {
    const due = [...this.state.configuration.certificates.values()].filter(
      (certificate) =>
        certificate.source === 'internal' && isDueForRenewal(certificate, this.#now()),
    )
    if (due.length === 0) return []
    const changes = due.map(({ name, hosts }): Change => {
      const spec = { name, source: 'internal' as const, hosts }
      return { op: 'put', document: { kind: 'certificate', spec } }
    })
    await this.publish({ author: systemAuthor, message: 'renew internal certificates', changes })
    return due.map(({ name }) => name)
  }

  /** The newest configuration once more, under a number after this one. Returns the newest version's number. */
  publishBeyond(number: number, author: string): Promise<number> {
    const result = this.#turn.then(async () => {
      const { row } = this.#newest
      if (row !== undefined && row.number <= number) {
        const message = `goes on after version ${number}`
        const nothing = { put: [], removed: [], keys: [] }
        await this.#commit({ author, message, ...nothing, numberMin: number + 1 })
      }
      return this.#newest.row?.number ?? 0
    })
    this.#turn = result.catch(() => undefined)
    return result
  }

  async #publish({ author, message, changes }: ChangeRequest): Promise<Publication> {
    const before = this.state
    const resolved = resolveChanges(changes, before.configuration)
    const { candidates, keys } = await prepare(resolved, before, this.#desk, this.#ring)
    const { removed } = resolved
    const changed = candidates.filter((candidate) => !isUnchanged(candidate, before))
    if (changed.length > 0 || removed.length > 0) {
      const put = [...changed, ...this.#firstSettings(candidates)]
      await this.#commit({ author, message, put, removed, keys })
    }
    return {
      version: this.#newest.row?.number ?? 0,
      changes: [
        ...candidates.map((candidate) => outcomeOf(candidate, before)),
        ...removed.map((id) => ({ ...id, change: 'removed' as const })),
      ],
      warnings: this.#warnings(candidates),
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

  #warnings(candidates: readonly Candidate[]): Problem[] {
    const written = new Set(candidates.map(({ resource }) => keyOf(idOf(resource))))
    const isWanted = (kind: ResourceId['kind'], name: string) => written.has(keyOf({ kind, name }))
    return findWarnings(this.state.configuration, isWanted, this.#now()).slice(
      0,
      limits.problemsMax,
    )
  }
}

function isUnchanged({ resource, digest }: Candidate, before: PublishedState): boolean {
  const existing = before.find(idOf(resource))
  if (existing === undefined || !Buffer.from(existing.digest).equals(digest)) return false
  // Where a certificate came from does not reach the nodes, so the digest does not tell.
  return (
    resource.kind !== 'certificate' ||
    existing.resource.kind !== 'certificate' ||
    existing.resource.spec.source === resource.spec.source
  )
}

function outcomeOf(candidate: Candidate, before: PublishedState): ChangeOutcome {
  const id = idOf(candidate.resource)
  if (before.find(id) === undefined) return { ...id, change: 'created' }
  return { ...id, change: isUnchanged(candidate, before) ? 'unchanged' : 'replaced' }
}

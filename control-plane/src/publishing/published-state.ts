/** The newest configuration with everything that is known of each resource. Immutable. */
import { Configuration, idOf, keyOf, type ResourceId } from '../model/configuration.ts'
import type { FeatureNeed } from '../model/features.ts'
import type { Kind } from '../model/kinds.ts'
import type { Resource } from '../model/resources.ts'
import { SortedDigests } from './version-hash.ts'

/** One resource as it is now. */
export interface ResourceRecord {
  readonly resource: Resource
  readonly revision: number
  readonly createdAtMs: number
  readonly updatedAtMs: number
  /** The sluice.v1 Resource. Holds the private key of a certificate. */
  readonly encoded: Uint8Array
  /** SHA-256 of `encoded`. */
  readonly digest: Uint8Array
  /** What a node's software must be able to do for it. */
  readonly needs: readonly FeatureNeed[]
}

export class PublishedState {
  static readonly empty = new PublishedState(new Map(), Configuration.empty, SortedDigests.empty)

  readonly configuration: Configuration
  readonly #records: ReadonlyMap<string, ResourceRecord>
  readonly #digests: SortedDigests
  readonly #sorted = new Map<Kind, readonly ResourceRecord[]>()

  private constructor(
    records: ReadonlyMap<string, ResourceRecord>,
    configuration: Configuration,
    digests: SortedDigests,
  ) {
    this.#records = records
    this.configuration = configuration
    this.#digests = digests
  }

  /** As sluice.v1 Update.hash. */
  get hash(): string {
    return this.#digests.hash
  }

  /** By `keyOf`. */
  get entries(): ReadonlyMap<string, ResourceRecord> {
    return this.#records
  }

  get records(): Iterable<ResourceRecord> {
    return this.#records.values()
  }

  find({ kind, name }: ResourceId): ResourceRecord | undefined {
    return this.#records.get(keyOf({ kind, name }))
  }

  /** All of one kind, by name. */
  list(kind: Kind): readonly ResourceRecord[] {
    const known = this.#sorted.get(kind)
    if (known !== undefined) return known
    const sorted = [...this.#records]
      .filter(([, { resource }]) => resource.kind === kind)
      .sort(([left], [right]) => (left < right ? -1 : 1))
      .map(([, record]) => record)
    this.#sorted.set(kind, sorted)
    return sorted
  }

  with(put: readonly ResourceRecord[], removed: readonly ResourceId[] = []): PublishedState {
    const records = new Map(this.#records)
    for (const id of removed) records.delete(keyOf(id))
    for (const record of put) records.set(keyOf(idOf(record.resource)), record)
    const resources = put.map(({ resource }) => resource)
    const touched = [...new Set([...removed, ...resources.map(idOf)].map(keyOf))]
    const digestsIn = (from: ReadonlyMap<string, ResourceRecord>) =>
      touched.flatMap((key) => from.get(key)?.digest ?? [])
    const digests = this.#digests.with(digestsIn(records), digestsIn(this.#records))
    return new PublishedState(records, this.configuration.with(resources, removed), digests)
  }
}

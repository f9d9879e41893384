/** The newest configuration with everything that is known of each resource. Immutable. */
import { LayeredMap, SortedDigests } from '@sluice/matching'
import { Configuration, idOf, keyOf, type ResourceId } from '../model/configuration.ts'
import type { FeatureNeed } from '../model/features.ts'
import type { Kind } from '../model/kinds.ts'
import type { Resource, Router } from '../model/resources.ts'
import { digestTextOf } from './version-hash.ts'

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

interface Parts {
  readonly configuration: Configuration
  readonly records: LayeredMap<ResourceRecord>
  readonly digests: SortedDigests
  readonly needy: LayeredMap<ResourceRecord>
  readonly selective: LayeredMap<Router>
}

export class PublishedState {
  static readonly empty = new PublishedState({
    configuration: Configuration.empty,
    records: LayeredMap.of(),
    digests: SortedDigests.empty,
    needy: LayeredMap.of(),
    selective: LayeredMap.of(),
  })

  readonly configuration: Configuration
  readonly #records: LayeredMap<ResourceRecord>
  readonly #digests: SortedDigests
  /** Those that ask something of a node's software, by `keyOf`. */
  readonly needy: LayeredMap<ResourceRecord>
  /** The routers that select nodes, by `keyOf`. */
  readonly selective: LayeredMap<Router>
  readonly #sorted = new Map<Kind, readonly ResourceRecord[]>()

  private constructor({ configuration, records, digests, needy, selective }: Parts) {
    this.configuration = configuration
    this.#records = records
    this.#digests = digests
    this.needy = needy
    this.selective = selective
  }

  /** As sluice.v1 Update.hash. */
  get hash(): string {
    return this.#digests.hash
  }

  /** By `keyOf`. */
  get entries(): LayeredMap<ResourceRecord> {
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

  /** At the cost of what changes. */
  with(put: readonly ResourceRecord[], removed: readonly ResourceId[] = []): PublishedState {
    const come = put.map((record) => [keyOf(idOf(record.resource)), record] as const)
    const touched = new Set([...removed.map(keyOf), ...come.map(([key]) => key)])
    const records = this.#records.with(come, removed.map(keyOf))
    const digestsIn = (from: LayeredMap<ResourceRecord>) =>
      [...touched].flatMap((key) => {
        const record = from.get(key)
        return record === undefined ? [] : [digestTextOf(record.digest)]
      })
    return new PublishedState({
      configuration: this.configuration.with(
        put.map(({ resource }) => resource),
        removed,
      ),
      records,
      digests: this.#digests.with(digestsIn(records), digestsIn(this.#records)),
      needy: this.needy.with(
        come.filter(([, { needs }]) => needs.length > 0),
        touched,
      ),
      selective: this.selective.with(come.flatMap(selectiveRouter), touched),
    })
  }
}

function selectiveRouter([key, { resource }]: readonly [string, ResourceRecord]) {
  if (resource.kind !== 'router') return []
  // One that was stored before the field existed has none.
  const nodes: Router['nodes'] | undefined = resource.spec.nodes
  const isSelective = nodes !== undefined && Object.keys(nodes).length > 0
  return isSelective ? [[key, resource.spec] as const] : []
}

/**
 * The content of a version as the supervisor keeps it: encoded resources by kind and name. They stay bytes,
 * since the hash is over the bytes as they came and the workers decode them themselves. Sets share what they have
 * in common, so that a delta costs what it changes.
 */
import { createHash } from 'node:crypto'
import { digestText, LayeredMap, SortedDigests } from '@sluice/matching'
import { Resource, type ResourceKey, ResourceKind, type Snapshot } from '@sluice/proto'
import { reasonOf } from './errors.ts'

export class ResourceError extends Error {
  override readonly name = 'ResourceError'
}

const KINDS = {
  entryPoint: ResourceKind.ENTRY_POINT,
  router: ResourceKind.ROUTER,
  service: ResourceKind.SERVICE,
  certificate: ResourceKind.CERTIFICATE,
  settings: ResourceKind.SETTINGS,
} as const

/** What takes one set to another. What is replaced need not be in `removed`. */
export interface ResourceChange {
  readonly removed: readonly ResourceKey[]
  readonly resources: readonly Uint8Array[]
}

interface Origin {
  /** The id of a set: sets do not hold all those that came before them. */
  readonly base: symbol
  readonly change: ResourceChange
}

export class ResourceSet {
  readonly #id = Symbol('set')
  readonly #byKey: LayeredMap<Uint8Array>
  readonly #digests: SortedDigests
  /** The delta that made it. */
  readonly #origin: Origin | undefined

  private constructor(byKey: LayeredMap<Uint8Array>, digests: SortedDigests, origin?: Origin) {
    this.#byKey = byKey
    this.#digests = digests
    this.#origin = origin
  }

  static fromSnapshot(snapshot: Pick<Snapshot, 'resources'>): ResourceSet {
    const byKey = new Map<string, Uint8Array>()
    for (const bytes of snapshot.resources) {
      const key = keyOf(bytes)
      if (byKey.has(key)) throw new ResourceError(`two resources are ${key}`)
      byKey.set(key, bytes)
    }
    const digests = SortedDigests.empty.with(snapshot.resources.map(digestText), [])
    return new ResourceSet(LayeredMap.of(byKey), digests)
  }

  /** A new set; this one stays as it is. */
  withDelta(change: ResourceChange): ResourceSet {
    const gone = change.removed.map(({ kind, name }) => `${kind}/${name}`)
    const come = new Map(change.resources.map((bytes) => [keyOf(bytes), bytes]))
    const replaced = [...new Set([...gone, ...come.keys()])].flatMap(
      (key) => this.#byKey.get(key) ?? [],
    )
    const digests = this.#digests.with(
      Array.from(come.values(), digestText),
      replaced.map(digestText),
    )
    return new ResourceSet(this.#byKey.with(come, gone), digests, { base: this.#id, change })
  }

  /** From nothing, if `base` is undefined. At the cost of the delta where `base` is what this was made of. */
  changeFrom(base: ResourceSet | undefined): ResourceChange {
    if (base === undefined) return { removed: [], resources: this.resources() }
    if (base.#id === this.#id) return { removed: [], resources: [] }
    if (base.#id === this.#origin?.base) return this.#origin.change
    const resources: Uint8Array[] = []
    const removed: ResourceKey[] = []
    for (const key of this.#byKey.keysUnlike(base.#byKey)) {
      const before = base.#byKey.get(key)
      const bytes = this.#byKey.get(key)
      if (bytes !== undefined) {
        if (before === undefined || Buffer.compare(before, bytes) !== 0) resources.push(bytes)
      } else if (before !== undefined) removed.push(parseKey(key))
    }
    return { removed, resources }
  }

  resources(): Uint8Array[] {
    return [...this.#byKey.values()]
  }

  hasRouters(): boolean {
    for (const key of this.#byKey.keys()) {
      if (key.startsWith(`${ResourceKind.ROUTER}/`)) return true
    }
    return false
  }

  /** As sluice.v1 Update.hash: the digests of the resources, sorted bytewise, hashed. */
  hash(): string {
    return this.#digests.hash
  }
}

function keyOf(bytes: Uint8Array): string {
  const resource = decode(bytes).resource
  // A kind that this software does not know still counts for the hash, under its own digest.
  if (resource === undefined) return `unknown/${createHash('sha256').update(bytes).digest('hex')}`
  const name = resource.$case === 'settings' ? 'settings' : resource.value.name
  return `${KINDS[resource.$case]}/${name}`
}

function parseKey(key: string): ResourceKey {
  const at = key.indexOf('/')
  return { kind: Number(key.slice(0, at)) as ResourceKind, name: key.slice(at + 1) }
}

function decode(bytes: Uint8Array): Resource {
  try {
    return Resource.decode(bytes)
  } catch (error) {
    throw new ResourceError(`a resource cannot be decoded: ${reasonOf(error)}`)
  }
}

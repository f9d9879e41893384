/**
 * The content of a version as the supervisor keeps it: encoded resources by kind and name. They stay bytes,
 * since the hash is over the bytes as they came and the workers decode them themselves. Digests are kept, so
 * that a delta costs what it changes and not what is there.
 */
import { createHash } from 'node:crypto'
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

interface Entry {
  readonly bytes: Uint8Array
  /** One character per byte, so that comparing text compares bytes. */
  readonly digest: string
}

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
  readonly #byKey: ReadonlyMap<string, Entry>
  /** All digests, sorted. */
  readonly #digests: readonly string[]
  /** The delta that made it. */
  readonly #origin: Origin | undefined

  private constructor(
    byKey: ReadonlyMap<string, Entry>,
    digests: readonly string[],
    origin?: Origin,
  ) {
    this.#byKey = byKey
    this.#digests = digests
    this.#origin = origin
  }

  static fromSnapshot(snapshot: Pick<Snapshot, 'resources'>): ResourceSet {
    const byKey = new Map<string, Entry>()
    for (const bytes of snapshot.resources) {
      const key = keyOf(bytes)
      if (byKey.has(key)) throw new ResourceError(`two resources are ${key}`)
      byKey.set(key, toEntry(bytes))
    }
    return new ResourceSet(byKey, Array.from(byKey.values(), ({ digest }) => digest).sort())
  }

  /** A new set; this one stays as it is. */
  withDelta({ removed, resources }: ResourceChange): ResourceSet {
    const byKey = new Map(this.#byKey)
    const gone: string[] = []
    const take = (key: string) => {
      const before = byKey.get(key)
      if (before !== undefined) gone.push(before.digest)
      byKey.delete(key)
    }
    const added = new Map<string, Entry>()
    for (const { kind, name } of removed) take(`${kind}/${name}`)
    for (const bytes of resources) {
      const key = keyOf(bytes)
      take(key)
      added.set(key, toEntry(bytes))
    }
    for (const [key, entry] of added) byKey.set(key, entry)
    const come = Array.from(added.values(), ({ digest }) => digest)
    const digests = merged(this.#digests, gone.sort(), come.sort())
    return new ResourceSet(byKey, digests, { base: this.#id, change: { removed, resources } })
  }

  /** From nothing, if `base` is undefined. At the cost of the delta where `base` is what this was made of. */
  changeFrom(base: ResourceSet | undefined): ResourceChange {
    if (base === undefined) return { removed: [], resources: this.resources() }
    if (base.#id === this.#id) return { removed: [], resources: [] }
    if (base.#id === this.#origin?.base) return this.#origin.change
    const resources: Uint8Array[] = []
    for (const [key, { bytes, digest }] of this.#byKey) {
      if (base.#byKey.get(key)?.digest !== digest) resources.push(bytes)
    }
    const removed = Array.from(base.#byKey.keys())
      .filter((key) => !this.#byKey.has(key))
      .map(parseKey)
    return { removed, resources }
  }

  resources(): Uint8Array[] {
    return Array.from(this.#byKey.values(), ({ bytes }) => bytes)
  }

  hasRouters(): boolean {
    for (const key of this.#byKey.keys()) {
      if (key.startsWith(`${ResourceKind.ROUTER}/`)) return true
    }
    return false
  }

  /** As sluice.v1 Update.hash: the digests of the resources, sorted bytewise, hashed. */
  hash(): string {
    return createHash('sha256').update(this.#digests.join(''), 'latin1').digest('hex')
  }
}

/** All three sorted; every one of `gone` is in `digests`. */
function merged(
  digests: readonly string[],
  gone: readonly string[],
  come: readonly string[],
): string[] {
  const result: string[] = []
  let goneAt = 0
  let comeAt = 0
  for (const digest of digests) {
    if (digest === gone[goneAt]) {
      goneAt += 1
      continue
    }
    for (let next = come[comeAt]; next !== undefined && next < digest; next = come[comeAt]) {
      result.push(next)
      comeAt += 1
    }
    result.push(digest)
  }
  return result.concat(come.slice(comeAt))
}

function toEntry(bytes: Uint8Array): Entry {
  return { bytes, digest: createHash('sha256').update(bytes).digest('latin1') }
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

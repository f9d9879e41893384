/**
 * The content of a version as the supervisor keeps it: encoded resources by kind and name. They stay bytes,
 * since the hash is over the bytes as they came and the workers decode them themselves.
 */
import { createHash } from 'node:crypto'
import { type Delta, Resource, ResourceKind, type Snapshot } from '@sluice/proto'
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

export class ResourceSet {
  readonly #byKey: ReadonlyMap<string, Uint8Array>

  private constructor(byKey: ReadonlyMap<string, Uint8Array>) {
    this.#byKey = byKey
  }

  static fromSnapshot(snapshot: Pick<Snapshot, 'resources'>): ResourceSet {
    const byKey = new Map<string, Uint8Array>()
    for (const bytes of snapshot.resources) {
      const key = keyOf(bytes)
      if (byKey.has(key)) throw new ResourceError(`two resources are ${key}`)
      byKey.set(key, bytes)
    }
    return new ResourceSet(byKey)
  }

  /** A new set; this one stays as it is. */
  withDelta(delta: Pick<Delta, 'resources' | 'removed'>): ResourceSet {
    const byKey = new Map(this.#byKey)
    for (const { kind, name } of delta.removed) byKey.delete(`${kind}/${name}`)
    for (const bytes of delta.resources) byKey.set(keyOf(bytes), bytes)
    return new ResourceSet(byKey)
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
    const digests = this.resources().map((bytes) => createHash('sha256').update(bytes).digest())
    digests.sort(Buffer.compare)
    const whole = createHash('sha256')
    for (const digest of digests) whole.update(digest)
    return whole.digest('hex')
  }
}

function keyOf(bytes: Uint8Array): string {
  const resource = decode(bytes).resource
  // A kind that this software does not know still counts for the hash, under its own digest.
  if (resource === undefined) return `unknown/${createHash('sha256').update(bytes).digest('hex')}`
  const name = resource.$case === 'settings' ? 'settings' : resource.value.name
  return `${KINDS[resource.$case]}/${name}`
}

function decode(bytes: Uint8Array): Resource {
  try {
    return Resource.decode(bytes)
  } catch (error) {
    throw new ResourceError(`a resource cannot be decoded: ${reasonOf(error)}`)
  }
}

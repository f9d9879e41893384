/**
 * What the simulated nodes run, kept once for all of them: nodes that take the same step with the same bytes
 * come to the same content, so the first one decodes it and checks its hash as a node does.
 */
import { createHash } from 'node:crypto'
import { ConfigureResponse, Resource, ResourceKind, type Update } from '@sluice/proto'

export type Step =
  | { readonly kind: 'applied'; readonly version: bigint; readonly hash: string }
  /** Its base is not what the node runs, or it does not come to its hash. */
  | { readonly kind: 'full-needed' }
  | { readonly kind: 'other'; readonly message: ConfigureResponse['message'] }

interface Decoded {
  readonly response: ConfigureResponse
  readonly isGood: boolean
}

const KINDS = {
  entryPoint: ResourceKind.ENTRY_POINT,
  router: ResourceKind.ROUTER,
  service: ResourceKind.SERVICE,
  certificate: ResourceKind.CERTIFICATE,
  settings: ResourceKind.SETTINGS,
} as const

/** Shorter messages are decoded by each node. Version, hash and base are at the front of an update. */
const KEY_BYTES = 300
const KEPT_MAX = 64

export class SharedVersions {
  readonly #decoded = new Map<string, Decoded>()
  readonly #contents = new Map<string, ReadonlyMap<string, Buffer>>()

  read(bytes: Buffer, runningHash: string): Step {
    const { response, isGood } = this.#decode(bytes)
    const { message } = response
    if (message?.$case !== 'update') return { kind: 'other', message }
    const { version, hash, baseHash, content } = message.value
    const isOnBase = content?.$case === 'full' || baseHash === runningHash
    return isOnBase && isGood ? { kind: 'applied', version, hash } : { kind: 'full-needed' }
  }

  #decode(bytes: Buffer): Decoded {
    const key = `${bytes.length}/${bytes.toString('latin1', 0, KEY_BYTES)}`
    const known = this.#decoded.get(key)
    if (known !== undefined) return known
    const response = ConfigureResponse.decode(bytes)
    const { message } = response
    if (message?.$case !== 'update') return { response, isGood: true }
    const decoded = { response: withoutContent(message.value), isGood: this.#take(message.value) }
    keep(this.#decoded, key, decoded)
    return decoded
  }

  /** Whether the content comes to the hash that the update names. */
  #take({ hash, baseHash, content }: Update): boolean {
    const base = content?.$case === 'delta' ? this.#contents.get(baseHash) : undefined
    if (content === undefined || (content.$case === 'delta' && base === undefined)) return false
    const digests = new Map(base)
    if (content.$case === 'delta') {
      for (const { kind, name } of content.value.removed) digests.delete(`${kind}/${name}`)
    }
    for (const bytes of content.value.resources) {
      digests.set(keyOf(bytes), createHash('sha256').update(bytes).digest())
    }
    const whole = createHash('sha256')
    for (const digest of [...digests.values()].sort(Buffer.compare)) whole.update(digest)
    if (whole.digest('hex') !== hash) return false
    keep(this.#contents, hash, digests)
    return true
  }
}

function withoutContent(update: Update): ConfigureResponse {
  const content = update.content?.$case
  const nothing = { resources: [], removed: [], emptyOnPurpose: false }
  const value: Update = {
    ...update,
    content:
      content === 'full' ? { $case: 'full', value: nothing } : { $case: 'delta', value: nothing },
  }
  return { message: { $case: 'update', value } }
}

function keyOf(bytes: Uint8Array): string {
  const { resource } = Resource.decode(bytes)
  if (resource === undefined) throw new Error('a resource of an unknown kind')
  const name = resource.$case === 'settings' ? 'settings' : resource.value.name
  return `${KINDS[resource.$case]}/${name}`
}

function keep<T>(map: Map<string, T>, key: string, value: T): void {
  map.set(key, value)
  const [oldest] = map.keys()
  if (map.size > KEPT_MAX && oldest !== undefined) map.delete(oldest)
}

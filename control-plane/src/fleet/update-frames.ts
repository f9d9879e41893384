/**
 * Updates as encoded bytes, made once for all nodes that go from the same state to the same view. A node whose
 * state is among the latest views gets what changed since; any other one gets the whole.
 */
import { type ResourceKey, ResourceKind, type Update } from '@sluice/proto'
import { idOfKey } from '../model/configuration.ts'
import type { Kind } from '../model/kinds.ts'
import { changesBetween, type VersionView } from '../publishing/version-view.ts'
import { fleetLimits } from './limits.ts'
import { encodeConfigure } from './service-definitions.ts'

/** A version as one node has it or should have it. */
export interface VersionStamp {
  readonly version: bigint
  /** Of the node's view. */
  readonly hash: string
}

export interface UpdateFramesLimits {
  readonly baseEntriesMax: number
  readonly frameBytesMax: number
}

export class UpdateFrames {
  readonly #limits: UpdateFramesLimits
  /** The latest views by hash, the oldest first. */
  readonly #bases = new Map<string, VersionView>()
  /** The latest frames, the oldest first. */
  readonly #frames = new Map<string, Buffer>()
  #entries = 0
  #bytes = 0

  constructor(limits: UpdateFramesLimits = fleetLimits) {
    this.#limits = limits
  }

  /** `base`: what the node runs; undefined when it takes no delta. */
  frameOf(number: bigint, view: VersionView, base: VersionStamp | undefined): Buffer {
    this.#remember(view)
    const from = base === undefined ? undefined : this.#bases.get(base.hash)
    if (base === undefined || from === undefined) return this.#whole(number, view)
    const key = `${number}/${view.hash}/${base.version}/${base.hash}`
    return this.#once(key, () => this.#delta(number, view, base, from))
  }

  #whole(number: bigint, view: VersionView): Buffer {
    return this.#once(`${number}/${view.hash}`, () => {
      const resources = Array.from(view.entries.values(), ({ encoded }) => asBuffer(encoded))
      const value = { resources, emptyOnPurpose: view.isEmptyOnPurpose }
      return encode(number, view, { version: 0n, hash: '' }, { $case: 'full', value })
    })
  }

  #delta(number: bigint, view: VersionView, base: VersionStamp, from: VersionView): Buffer {
    const { put, removed } = changesBetween(from, view)
    // Then it is no smaller than the whole, which needs no base.
    if (put.length === view.entries.size && put.length > 0) return this.#whole(number, view)
    const value = {
      resources: put.map(asBuffer),
      removed: removed.map(toResourceKey),
      emptyOnPurpose: view.isEmptyOnPurpose,
    }
    return encode(number, view, base, { $case: 'delta', value })
  }

  #once(key: string, make: () => Buffer): Buffer {
    const known = this.#frames.get(key)
    if (known !== undefined) return known
    const frame = make()
    this.#frames.set(key, frame)
    this.#bytes += frame.length
    for (const [oldest, { length }] of this.#frames) {
      if (this.#bytes <= this.#limits.frameBytesMax || oldest === key) break
      this.#frames.delete(oldest)
      this.#bytes -= length
    }
    return frame
  }

  #remember(view: VersionView): void {
    if (this.#bases.get(view.hash) === view) return
    // As the newest of all, also when an earlier version had the same content.
    this.#entries -= this.#bases.get(view.hash)?.entries.size ?? 0
    this.#bases.delete(view.hash)
    this.#bases.set(view.hash, view)
    this.#entries += view.entries.size
    for (const [hash, { entries }] of this.#bases) {
      if (this.#entries <= this.#limits.baseEntriesMax || hash === view.hash) break
      this.#bases.delete(hash)
      this.#entries -= entries.size
    }
  }
}

function encode(
  version: bigint,
  { hash }: VersionView,
  base: VersionStamp,
  content: NonNullable<Update['content']>,
): Buffer {
  const value = { version, hash, baseVersion: base.version, baseHash: base.hash, content }
  return encodeConfigure({ $case: 'update', value })
}

const resourceKinds = {
  'entry-point': ResourceKind.ENTRY_POINT,
  router: ResourceKind.ROUTER,
  service: ResourceKind.SERVICE,
  certificate: ResourceKind.CERTIFICATE,
  settings: ResourceKind.SETTINGS,
} as const satisfies Record<Kind, ResourceKind>

function toResourceKey(key: string): ResourceKey {
  const { kind, name } = idOfKey(key)
  return { kind: resourceKinds[kind], name }
}

/** The same memory, in the type that the encoder takes. */
function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

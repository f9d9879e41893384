/** What a node gets of a version, with the hash that it must come to. Immutable; shared by all nodes alike. */
import type { ResourceRecord } from './published-state.ts'

export type ViewEntry = Pick<ResourceRecord, 'encoded' | 'digest' | 'needs'>

export interface VersionView {
  /** As sluice.v1 Update.hash. */
  readonly hash: string
  /** By `keyOf`. Private keys are in the clear here: never log, never store. */
  readonly entries: ReadonlyMap<string, ViewEntry>
  /** True when the view is without routers because operators want it so. */
  readonly isEmptyOnPurpose: boolean
}

/** What leads from one view to another. */
export interface ViewChanges {
  readonly put: readonly Uint8Array[]
  /** By `keyOf`. */
  readonly removed: readonly string[]
}

export function changesBetween(base: VersionView, view: VersionView): ViewChanges {
  const put: Uint8Array[] = []
  for (const [key, entry] of view.entries) {
    const before = base.entries.get(key)
    if (before === undefined || !isSame(before, entry)) put.push(entry.encoded)
  }
  const removed = [...base.entries.keys()].filter((key) => !view.entries.has(key))
  return { put, removed }
}

function isSame(one: ViewEntry, other: ViewEntry): boolean {
  // Records live on from version to version, so digests are compared only after a change.
  return one === other || Buffer.compare(one.digest, other.digest) === 0
}

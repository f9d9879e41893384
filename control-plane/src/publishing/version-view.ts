/** What a node gets of a version, with the hash that it must come to. Immutable; shared by all nodes alike. */
import type { LayeredMap } from '@sluice/matching'
import { idOfKey, type ResourceId } from '../model/configuration.ts'
import type { FeatureNeed } from '../model/features.ts'
import type { ResourceRecord } from './published-state.ts'

export type ViewEntry = Pick<ResourceRecord, 'encoded' | 'digest' | 'needs'>

export interface VersionView {
  /** As sluice.v1 Update.hash. */
  readonly hash: string
  /** By `keyOf`. Private keys are in the clear here: never log, never store. */
  readonly entries: LayeredMap<ViewEntry>
  /** What it asks of a node's software: one resource for each feature. */
  readonly needs: readonly ViewNeed[]
  /** True when the view is without routers because operators want it so. */
  readonly isEmptyOnPurpose: boolean
}

export interface ViewNeed extends FeatureNeed, ResourceId {}

export function needsOf(entries: ReadonlyMap<string, ViewEntry>): ViewNeed[] {
  const found = new Map<string, ViewNeed>()
  for (const [key, { needs }] of entries) {
    for (const need of needs) {
      if (!found.has(need.feature)) found.set(need.feature, { ...need, ...idOfKey(key) })
    }
  }
  return [...found.values()]
}

/** What leads from one view to another. */
export interface ViewChanges {
  readonly put: readonly Uint8Array[]
  /** By `keyOf`. */
  readonly removed: readonly string[]
}

export function changesBetween(base: VersionView, view: VersionView): ViewChanges {
  const put: Uint8Array[] = []
  const removed: string[] = []
  for (const key of view.entries.keysUnlike(base.entries)) {
    const before = base.entries.get(key)
    const entry = view.entries.get(key)
    if (entry !== undefined) {
      if (before === undefined || !isSame(before, entry)) put.push(entry.encoded)
    } else if (before !== undefined) removed.push(key)
  }
  return { put, removed }
}

function isSame(one: ViewEntry, other: ViewEntry): boolean {
  // Records live on from version to version, so digests are compared only after a change.
  return one === other || Buffer.compare(one.digest, other.digest) === 0
}

/** A version as it leaves the publisher: what the fleet service sends and the API lists. */
import type { Labels } from '../model/labels.ts'
import type { VersionView } from './version-view.ts'

export interface PublishedVersion {
  readonly number: bigint
  /** Of the whole, as sluice.v1 Update.hash. */
  readonly hash: string
  /** What a node with these labels gets of it. */
  viewFor(labels: Labels): VersionView
}

/** What the fleet service needs of publishing. */
export interface VersionSource {
  /** The newest version; undefined before the first one is published. */
  current(): PublishedVersion | undefined
  /** What a node should run: the newest version, or the one before it while that is at other nodes first. */
  currentFor(node: { readonly name: string; readonly labels: Labels }): PublishedVersion | undefined
  /** Calls back when what was at some nodes first is for all, or for none. */
  onStageEnded(listener: () => void): () => void
  /** Calls back after each publish. Returns the function that ends the subscription. */
  onPublished(listener: (version: PublishedVersion) => void): () => void
}

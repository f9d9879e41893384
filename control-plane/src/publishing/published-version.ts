/** A version as it leaves the publisher: what the fleet service sends and the API lists. */

export interface PublishedVersion {
  readonly number: bigint
  /** As sluice.v1 Update.hash. */
  readonly hash: string
  /** Encoded sluice.v1 Resource messages. Private keys are in the clear here: never log, never store. */
  readonly resources: readonly Uint8Array[]
  /** True when an operator removed the last router on purpose. */
  readonly isEmptyOnPurpose: boolean
}

/** What the fleet service needs of publishing. */
export interface VersionSource {
  /** The newest version; undefined before the first one is published. */
  current(): PublishedVersion | undefined
  /** Calls back after each publish. Returns the function that ends the subscription. */
  onPublished(listener: (version: PublishedVersion) => void): () => void
}

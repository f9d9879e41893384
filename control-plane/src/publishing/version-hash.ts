/** Digests as records hold them, and the hash of a version made of them. */
import { createHash } from 'node:crypto'
import { SortedDigests } from '@sluice/matching'

export function digestOf(encoded: Uint8Array): Buffer {
  return createHash('sha256').update(encoded).digest()
}

/** As sluice.v1 Update.hash: SHA-256 over the digests, sorted bytewise. */
export function hashOf(digests: readonly Uint8Array[]): string {
  return SortedDigests.empty.with(digests.map(digestTextOf), []).hash
}

/** As SortedDigests takes them. */
export function digestTextOf(digest: Uint8Array): string {
  return Buffer.from(digest.buffer, digest.byteOffset, digest.byteLength).toString('latin1')
}

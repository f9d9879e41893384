/** Digests of encoded resources, and the hash of a version made of them. */
import { createHash } from 'node:crypto'

export function digestOf(encoded: Uint8Array): Buffer {
  return createHash('sha256').update(encoded).digest()
}

/** As sluice.v1 Update.hash: SHA-256 over the digests, sorted bytewise. */
export function hashOf(digests: readonly Uint8Array[]): string {
  // One character per byte, so that comparing text compares bytes; faster than comparing buffers.
  const sorted = digests.map((digest) => Buffer.from(digest).toString('latin1')).sort()
  return createHash('sha256').update(sorted.join(''), 'latin1').digest('hex')
}

/** The same bytes in every process: what an origin sends and a client expects without asking it. */
import { createCipheriv, createHash } from 'node:crypto'

export const PATTERN_BYTES = 16 * 1024 * 1024

let bytes: Buffer | undefined

export function pattern(offset: number, length: number): Buffer {
  bytes ??= makePattern()
  return bytes.subarray(offset, offset + length)
}

export function hashOf(content: Uint8Array): string {
  return createHash('sha256').update(content).digest('hex')
}

// A key stream looks like noise, so no two places of it are alike, and a shifted byte changes every hash.
function makePattern(): Buffer {
  const cipher = createCipheriv('aes-128-ctr', Buffer.alloc(16, 7), Buffer.alloc(16))
  return cipher.update(Buffer.alloc(PATTERN_BYTES))
}

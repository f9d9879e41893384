/**
 * A whole version as a sluice.v1 Update, as Update.encode makes it, at the cost of copying its resources once:
 * with 100,000 of them the general encoder costs more than sealing the result and writing it to the disk.
 */
import { Update } from '@sluice/proto'

/** Fields of a length and that many bytes (protobuf's wire type 2): Update.full and Snapshot.resources. */
const FULL_TAG = (5 << 3) | 2
const RESOURCE_TAG = (1 << 3) | 2

export function encodeWhole(
  { version, hash }: Pick<Update, 'version' | 'hash'>,
  resources: readonly Uint8Array[],
): Buffer {
  const head = Update.encode({ version, hash, baseVersion: 0n, baseHash: '', content: undefined })
  const before = head.finish()
  const fullBytes = resources.reduce((sum, { length }) => sum + fieldBytes(length), 0)
  const result = Buffer.allocUnsafe(before.length + fieldBytes(fullBytes))
  result.set(before)
  let at = writeHead(result, before.length, FULL_TAG, fullBytes)
  for (const resource of resources) {
    at = writeHead(result, at, RESOURCE_TAG, resource.length)
    result.set(resource, at)
    at += resource.length
  }
  return result
}

/** With its tag, which is one byte, and its length. */
function fieldBytes(length: number): number {
  let bytes = 2 + length
  for (let rest = length >>> 7; rest > 0; rest >>>= 7) bytes += 1
  return bytes
}

/** Returns where the content begins. */
function writeHead(target: Buffer, from: number, tag: number, length: number): number {
  let at = from
  target[at++] = tag
  let rest = length
  for (; rest > 0x7f; rest >>>= 7) target[at++] = (rest & 0x7f) | 0x80
  target[at++] = rest
  return at
}

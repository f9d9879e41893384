/** Bytes without an end that are cheap to make and to check, for bodies that fit into no memory. */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { Socket } from 'node:net'

const BLOCK_BYTES = 262_144
const block = randomBytes(BLOCK_BYTES)
/** Room to compare from any place of the block on. */
const twice = Buffer.concat([block, block])

/** Writes so many bytes, as fast as they are taken. */
export async function pour(socket: Socket, length: number): Promise<void> {
  for (let left = length; left > 0; left -= BLOCK_BYTES) {
    const part = left < BLOCK_BYTES ? block.subarray(0, left) : block
    if (!socket.write(part) && !socket.destroyed) await once(socket, 'drain')
  }
}

/** Counts bytes as they come, and remembers whether each was the one that was due. */
export class PatternCheck {
  length = 0
  isSame = true

  take(bytes: Buffer): void {
    for (let at = 0; at < bytes.length; ) {
      const from = this.length % BLOCK_BYTES
      const part = bytes.subarray(at, at + BLOCK_BYTES)
      this.isSame &&= part.equals(twice.subarray(from, from + part.length))
      this.length += part.length
      at += part.length
    }
  }
}

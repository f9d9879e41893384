/** Digests of encoded resources, and the hash of a version made of them. */
import { createHash } from 'node:crypto'

export function digestOf(encoded: Uint8Array): Buffer {
  return createHash('sha256').update(encoded).digest()
}

/** As sluice.v1 Update.hash: SHA-256 over the digests, sorted bytewise. */
export function hashOf(digests: readonly Uint8Array[]): string {
  return SortedDigests.empty.with(digests, []).hash
}

/** The digests of a version in the order of its hash. Immutable; a version's are made from those before it. */
export class SortedDigests {
  static readonly empty = new SortedDigests([])

  /** One character per byte, so that comparing text compares bytes; faster than comparing buffers. */
  readonly #sorted: readonly string[]

  private constructor(sorted: readonly string[]) {
    this.#sorted = sorted
  }

  get hash(): string {
    return createHash('sha256').update(this.#sorted.join(''), 'latin1').digest('hex')
  }

  /** `removed` are there, each as often as it is to be taken out. */
  with(added: readonly Uint8Array[], removed: readonly Uint8Array[]): SortedDigests {
    const gone = new Map<string, number>()
    for (const text of removed.map(textOf)) gone.set(text, (gone.get(text) ?? 0) + 1)
    const kept = this.#sorted.filter((text) => {
      const count = gone.get(text) ?? 0
      if (count > 0) gone.set(text, count - 1)
      return count === 0
    })
    // What is nearly in order already is sorted in little more than one pass.
    return new SortedDigests([...kept, ...added.map(textOf)].sort())
  }
}

function textOf(digest: Uint8Array): string {
  return Buffer.from(digest.buffer, digest.byteOffset, digest.byteLength).toString('latin1')
}

/** Digests of encoded resources, and the hash of a version that is made of them (sluice.v1 Update.hash). */
import { createHash } from 'node:crypto'

const DIGEST_BYTES = 32

/** SHA-256 of an encoded resource, one character per byte, so that comparing text compares bytes. */
export function digestText(encoded: Uint8Array): string {
  return createHash('sha256').update(encoded).digest('latin1')
}

/** The digests of a version in the order of its hash. Immutable; a version's are made from those before it. */
export class SortedDigests {
  static readonly empty = new SortedDigests(Buffer.alloc(0))
  readonly #bytes: Buffer

  private constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  /** SHA-256 over the digests, sorted bytewise; in hexadecimal digits. */
  get hash(): string {
    return createHash('sha256').update(this.#bytes).digest('hex')
  }

  /** Both as texts of digests; each of `removed` is there. */
  with(added: readonly string[], removed: readonly string[]): SortedDigests {
    const before = this.#bytes
    const size = before.length + (added.length - removed.length) * DIGEST_BYTES
    const after = Buffer.allocUnsafe(size)
    const come = added.toSorted()
    let comeAt = 0
    let from = 0
    let to = 0
    const copyUntil = (place: number) => {
      to += before.copy(after, to, from, place)
      from = place
    }
    /** All that come before `limit`, or all. */
    const putUntil = (limit: string | undefined) => {
      for (let text = come[comeAt]; text !== undefined; text = come[comeAt]) {
        if (limit !== undefined && text >= limit) return
        copyUntil(this.#placeOf(text, from))
        to += after.write(text, to, 'latin1')
        comeAt += 1
      }
    }
    for (const text of removed.toSorted()) {
      putUntil(text)
      const place = this.#placeOf(text, from)
      if (before.toString('latin1', place, place + DIGEST_BYTES) !== text) {
        throw new Error('a digest that is to be removed is not there')
      }
      copyUntil(place)
      from += DIGEST_BYTES
    }
    putUntil(undefined)
    copyUntil(before.length)
    return new SortedDigests(after)
  }

  /** The offset of the first digest from `from` on that is not less. */
  #placeOf(text: string, from: number): number {
    let low = from / DIGEST_BYTES
    let high = this.#bytes.length / DIGEST_BYTES
    while (low < high) {
      const middle = (low + high) >>> 1
      const at = middle * DIGEST_BYTES
      if (this.#bytes.toString('latin1', at, at + DIGEST_BYTES) < text) low = middle + 1
      else high = middle
    }
    return low * DIGEST_BYTES
  }
}

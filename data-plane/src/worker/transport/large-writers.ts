/**
 * Which TLS connections of a worker write much at once. Each keeps a large buffer below Node for as long as it
 * lives, so there are only so many of them; all others write in smaller pieces, which costs more for each byte.
 */
import { limits } from '../../limits.ts'

export class LargeWriters {
  #count = 0

  /** True: one more may, until it gives that back. */
  enter(): boolean {
    if (this.#count >= limits.tlsLargeWritersMax) return false
    this.#count += 1
    return true
  }

  leave(): void {
    this.#count -= 1
  }
}

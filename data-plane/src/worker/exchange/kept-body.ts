/**
 * The bytes of a request's body that came before there was a connection to send them on, and those that may
 * have to be sent once more. Grows by doubling, so that a body in many parts costs no more than one in few.
 */
import { limits } from '../../limits.ts'

const FIRST_CAPACITY = 4_096

export class KeptBody {
  #bytes: Buffer | undefined
  #length = 0

  get length(): number {
    return this.#length
  }

  /** bytes[0..length) are what was kept; undefined for nothing. */
  get bytes(): Buffer | undefined {
    return this.#bytes
  }

  add(source: Buffer, from: number, to: number): void {
    const length = this.#length + to - from
    if (this.#bytes === undefined || this.#bytes.length < length) this.#grow(length)
    source.copy(this.#bytes as Buffer, this.#length, from, to)
    this.#length = length
  }

  /** False: there would be too much to send it again, and nothing is kept. */
  addIfShort(bytes: Buffer, from: number, to: number): boolean {
    const isShort = this.length + to - from <= limits.replayedBodyBytesMax
    if (isShort) this.add(bytes, from, to)
    else this.clear()
    return isShort
  }

  clear(): void {
    this.#bytes = undefined
    this.#length = 0
  }

  #grow(length: number): void {
    const capacity = Math.max(FIRST_CAPACITY, length, this.#length * 2)
    const bytes = Buffer.allocUnsafeSlow(capacity)
    this.#bytes?.copy(bytes, 0, 0, this.#length)
    this.#bytes = bytes
  }
}

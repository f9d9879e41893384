/** Bytes that a client sent and that cannot be taken yet: a part of a head, or requests sent ahead. Hot. */
import { limits } from '../../limits.ts'

/** Where a request line with its CRLF has ended at the latest, after an empty line. */
const REQUEST_LINE_END_MAX = limits.requestLineBytesMax + 4

export class HeldBytes {
  #bytes: Buffer | undefined

  get isEmpty(): boolean {
    return this.#bytes === undefined
  }

  /** Copies bytes[from..to). True: a head may be complete now, or too long for one. */
  add(bytes: Buffer, from: number, to: number): boolean {
    const more = bytes.subarray(from, to)
    const before = this.#bytes?.length ?? 0
    const held = this.#bytes === undefined ? Buffer.from(more) : Buffer.concat([this.#bytes, more])
    this.#bytes = held
    return mayEndHead(held, Math.max(0, before - 3)) || crossesLimit(before, held.length)
  }

  take(): Buffer | undefined {
    const bytes = this.#bytes
    this.#bytes = undefined
    return bytes
  }

  clear(): void {
    this.#bytes = undefined
  }
}

/** Whether a head may end in held[from..): at an empty line, or at a bare LF, which the parser refuses. */
function mayEndHead(held: Buffer, from: number): boolean {
  for (let at = held.indexOf(0x0a, from); at !== -1; at = held.indexOf(0x0a, at + 1)) {
    if (at === 0 || held[at - 1] !== 0x0d) return true
    if (at >= 3 && held[at - 2] === 0x0a) return true
  }
  return false
}

function crossesLimit(before: number, after: number): boolean {
  return (
    (before <= REQUEST_LINE_END_MAX && after > REQUEST_LINE_END_MAX) ||
    (before <= limits.headBytesMax && after > limits.headBytesMax)
  )
}

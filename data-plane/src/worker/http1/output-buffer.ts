/**
 * Where messages are put together before they leave in one write: one buffer for a whole worker, used by one
 * destination at a time between two I/O events. A transport that could not send at once keeps the buffer,
 * and a new one takes its place. Hot.
 */
import { limits } from '../../limits.ts'
import { type Transport, WriteResult } from '../transport/transport.ts'

const CAPACITY = limits.readBytesMax + limits.outputSpareBytes
/** "ffffffff" CRLF, CRLF and the last chunk "0" CRLF CRLF. */
const CHUNK_FRAME_BYTES = 8 + 2 + 2 + 5

export class OutputBuffer {
  #bytes = Buffer.allocUnsafeSlow(CAPACITY)
  #length = 0

  get length(): number {
    return this.#length
  }

  /** Latin-1: one byte for each character. */
  text(text: string): void {
    this.#length += this.#bytes.write(text, this.#length, 'latin1')
  }

  /** Whether so many bytes, chunk framing included, can still be put in. */
  hasRoom(length: number): boolean {
    return this.#length + length + CHUNK_FRAME_BYTES <= CAPACITY
  }

  copy(source: Buffer, from: number, to: number): void {
    this.#length += source.copy(this.#bytes, this.#length, from, to)
  }

  chunk(source: Buffer, from: number, to: number): void {
    this.text(`${(to - from).toString(16)}\r\n`)
    this.copy(source, from, to)
    this.text('\r\n')
  }

  /** `trailers`: lines with their CRLF, or ''. */
  lastChunk(trailers: string): void {
    this.text(trailers === '' ? '0\r\n\r\n' : `0\r\n${trailers}\r\n`)
  }

  discard(): void {
    this.#length = 0
  }

  /** Sends what is there. False: the destination is behind, so its source has to pause. */
  flush(transport: Transport): boolean {
    const length = this.#length
    if (length === 0) return true
    this.#length = 0
    const result = transport.write(this.#bytes, length)
    if (result === WriteResult.KEPT) this.#bytes = Buffer.allocUnsafeSlow(CAPACITY)
    return result === WriteResult.DONE
  }
}

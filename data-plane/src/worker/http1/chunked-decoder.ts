/**
 * The chunked coding, taken apart byte by byte and in any split (RFC 9112 section 7.1). The caller asks for
 * one step at a time; data is given as a range of the caller's bytes, nothing is copied. Hot.
 */
import { limits } from '../../limits.ts'
import { COLON, CR, FIELD_VALUE, HEX_VALUE, LF, TOKEN } from './characters.ts'

const SIZE = 0
const EXTENSION = 1
const SIZE_LF = 2
const DATA = 3
const DATA_CR = 4
const DATA_LF = 5
const TRAILER_START = 6
const TRAILER = 7
const TRAILER_LF = 8
const LAST_LF = 9
const ENDED = 10
const TRAILER_NAME = 11

/** What the last step found. */
export const ChunkStep = Object.freeze({ MORE: 0, DATA: 1, ENDED: 2, MALFORMED: 3 })

export class ChunkedDecoder {
  /** Range of the data after a step that returned DATA. */
  dataStart = 0
  dataEnd = 0
  /** Where the next step goes on. */
  at = 0
  /** The trailer section's lines, each with its CRLF, once the body has ended. */
  trailers = ''
  #state = SIZE
  #remaining = 0
  #digits = 0
  #lineBytes = 0
  #trailerBytes = 0

  reset(): void {
    this.#state = SIZE
    this.#remaining = 0
    this.#digits = 0
    this.#lineBytes = 0
    this.#trailerBytes = 0
    this.trailers = ''
  }

  /** One step over bytes[from..to). After DATA, ENDED and MORE, `at` is where the decoder stands. */
  step(bytes: Uint8Array, from: number, to: number): number {
    let at = from
    while (at < to) {
      if (this.#state === DATA) return this.#takeData(at, to)
      const byte = bytes[at] ?? 0
      at += 1
      if (!this.#takeByte(byte)) return ChunkStep.MALFORMED
      if (this.#state === ENDED) {
        this.at = at
        return ChunkStep.ENDED
      }
    }
    this.at = at
    return ChunkStep.MORE
  }

  #takeData(from: number, to: number): number {
    const length = Math.min(this.#remaining, to - from)
    this.dataStart = from
    this.dataEnd = from + length
    this.at = from + length
    this.#remaining -= length
    if (this.#remaining === 0) this.#state = DATA_CR
    return ChunkStep.DATA
  }

  /** One byte of framing. False: it may not stand there. */
  #takeByte(byte: number): boolean {
    switch (this.#state) {
      case SIZE:
        return this.#takeSizeByte(byte)
      case EXTENSION:
        this.#lineBytes += 1
        if (byte === CR) this.#state = SIZE_LF
        else if (FIELD_VALUE[byte] !== 1) return false
        return this.#lineBytes <= limits.chunkLineBytesMax
      case SIZE_LF:
        this.#state = this.#remaining === 0 ? TRAILER_START : DATA
        this.#digits = 0
        this.#lineBytes = 0
        return byte === LF
      case DATA_CR:
        this.#state = DATA_LF
        return byte === CR
      case DATA_LF:
        this.#state = SIZE
        return byte === LF
      default:
        return this.#takeTrailerByte(byte)
    }
  }

  #takeSizeByte(byte: number): boolean {
    const value = HEX_VALUE[byte] ?? 255
    if (value !== 255) {
      this.#digits += 1
      this.#lineBytes += 1
      this.#remaining = this.#remaining * 16 + value
      return this.#digits <= limits.chunkSizeDigitsMax && this.#remaining <= Number.MAX_SAFE_INTEGER
    }
    if (this.#digits === 0) return false
    if (byte === CR) this.#state = SIZE_LF
    else if (byte === 0x3b) this.#state = EXTENSION
    else return false
    return true
  }

  /** Trailer fields keep to the rules of head fields (RFC 9112 section 7.1.2). */
  #takeTrailerByte(byte: number): boolean {
    this.#trailerBytes += 1
    if (this.#trailerBytes > limits.trailerBytesMax) return false
    if (this.#state !== LAST_LF && (this.#state !== TRAILER_START || byte !== CR)) {
      this.trailers += String.fromCharCode(byte)
    }
    switch (this.#state) {
      case TRAILER_START:
        this.#state = byte === CR ? LAST_LF : TRAILER_NAME
        return byte === CR || TOKEN[byte] === 1
      case TRAILER_NAME:
        if (byte === COLON) this.#state = TRAILER
        return byte === COLON || TOKEN[byte] === 1
      case TRAILER:
        if (byte === CR) this.#state = TRAILER_LF
        return byte === CR || FIELD_VALUE[byte] === 1
      case TRAILER_LF:
        this.#state = TRAILER_START
        return byte === LF
      default:
        this.#state = ENDED
        return byte === LF
    }
  }
}

/**
 * Reads one HTTP/1.1 answer from whatever pieces its bytes come in: status, the body's end by its length, its
 * chunks or the connection's end (RFC 9112 section 6.3), and whether the connection may be used again. It
 * allocates nothing but for a head that comes in pieces. Hot.
 */

export const Reading = { MORE: 0, WHOLE: 1, BAD: 2 } as const
export type Reading = (typeof Reading)[keyof typeof Reading]

const State = { HEAD: 0, LENGTH: 1, UNTIL_CLOSE: 2, SIZE: 3, CHUNK: 4, CHUNK_END: 5, TRAILER: 6 }

const HEAD_BYTES_MAX = 65_536
const INCOMPLETE = -1
const MALFORMED = -2
const CR = 0x0d
const LF = 0x0a
const SP = 0x20
const COLON = 0x3a
const LOWER = 0x20
const DIGIT_0 = 0x30
const VERSION_BYTES = 'HTTP/1.1 '.length
const STATUS_LINE_BYTES_MIN = 'HTTP/1.1 200'.length
const NO_LENGTH = -1
const CONTENT_LENGTH = 'content-length'
const TRANSFER_ENCODING = 'transfer-encoding'
const CONNECTION = 'connection'
/** A chunk's size in hexadecimal digits: more would not be an exact number. */
const SIZE_DIGITS_MAX = 12

export class AnswerReader {
  status = 0
  bodyBytes = 0
  isKept = true
  /** The body is the expected text over and over, as far as it was looked at. */
  isAsExpected = true
  readonly #pattern: Uint8Array
  #isChecked = false
  #state: number = State.HEAD
  #left = 0
  #length = NO_LENGTH
  #isChunked = false
  #sizeDigits = 0
  #isLineEmpty = true
  #head: Uint8Array | undefined
  #headBytes = 0

  /** `pattern`: what a checked body repeats; empty for any body. */
  constructor(pattern: Uint8Array) {
    this.#pattern = pattern
  }

  /** Before each answer. `isChecked`: its body is compared. */
  begin(isChecked: boolean): void {
    this.status = 0
    this.bodyBytes = 0
    this.isKept = true
    this.isAsExpected = true
    this.#isChecked = isChecked && this.#pattern.length > 0
    this.#state = State.HEAD
    this.#headBytes = 0
  }

  /** Takes the next bytes. BAD: not HTTP/1.1, or bytes past the answer's end. */
  read(bytes: Uint8Array, to: number): Reading {
    let at = 0
    while (this.#state === State.HEAD) {
      at = this.#headBytes === 0 ? this.#readHead(bytes, at, to) : this.#readHeadInPieces(bytes, to)
      if (at === INCOMPLETE) return Reading.MORE
      if (at === MALFORMED) return Reading.BAD
      // Informational answers come before the one that counts.
      if (this.status >= 200) this.#frame()
    }
    switch (this.#state) {
      case State.LENGTH:
        return this.#readLength(bytes, at, to)
      case State.UNTIL_CLOSE:
        this.#take(bytes, at, to)
        return Reading.MORE
      default:
        return this.#readChunks(bytes, at, to)
    }
  }

  /** The peer ended the connection. */
  end(): Reading {
    return this.#state === State.UNTIL_CLOSE ? Reading.WHOLE : Reading.BAD
  }

  #readHead(bytes: Uint8Array, from: number, to: number): number {
    const end = this.#parseHead(bytes, from, to)
    if (end !== INCOMPLETE) return end
    this.#head ??= new Uint8Array(HEAD_BYTES_MAX)
    if (to - from > HEAD_BYTES_MAX) return MALFORMED
    this.#head.set(bytes.subarray(from, to))
    this.#headBytes = to - from
    return INCOMPLETE
  }

  #readHeadInPieces(bytes: Uint8Array, to: number): number {
    const head = this.#head
    if (head === undefined) return MALFORMED
    const had = this.#headBytes
    const taken = Math.min(to, HEAD_BYTES_MAX - had)
    head.set(bytes.subarray(0, taken), had)
    const end = this.#parseHead(head, 0, had + taken)
    if (end === INCOMPLETE) {
      this.#headBytes = had + taken
      return this.#headBytes === HEAD_BYTES_MAX ? MALFORMED : INCOMPLETE
    }
    this.#headBytes = 0
    return end === MALFORMED ? MALFORMED : end - had
  }

  /** The index just past the head, INCOMPLETE or MALFORMED. */
  #parseHead(bytes: Uint8Array, from: number, to: number): number {
    if (to - from < STATUS_LINE_BYTES_MIN) return INCOMPLETE
    const status = numberAt(bytes, from + VERSION_BYTES, from + STATUS_LINE_BYTES_MIN)
    if (bytes[from] !== 0x48 || bytes[from + VERSION_BYTES - 1] !== SP || status < 100) {
      return MALFORMED
    }
    this.status = status
    this.isKept = bytes[from + VERSION_BYTES - 2] === DIGIT_0 + 1
    this.#length = NO_LENGTH
    this.#isChunked = false
    let lineStart = from
    for (let at = from; at < to; at += 1) {
      if (bytes[at] !== LF) continue
      const lineEnd = at > lineStart && bytes[at - 1] === CR ? at - 1 : at
      if (lineEnd === lineStart) return at + 1
      if (lineStart !== from && !this.#takeField(bytes, lineStart, lineEnd)) return MALFORMED
      lineStart = at + 1
    }
    return INCOMPLETE
  }

  /** Only what frames the body is looked at; the first byte rules out most fields. */
  #takeField(bytes: Uint8Array, from: number, to: number): boolean {
    const first = (bytes[from] ?? 0) | LOWER
    if (first !== 0x63 && first !== 0x74) return true
    if (isNamed(bytes, from, to, CONTENT_LENGTH)) {
      this.#length = numberAt(bytes, from + CONTENT_LENGTH.length + 1, to)
      return this.#length >= 0
    }
    if (isNamed(bytes, from, to, TRANSFER_ENCODING)) {
      this.#isChunked = contains(bytes, from + TRANSFER_ENCODING.length + 1, to, 'chunked')
      return this.#isChunked
    }
    if (isNamed(bytes, from, to, CONNECTION)) {
      const start = from + CONNECTION.length + 1
      if (contains(bytes, start, to, 'close')) this.isKept = false
      else if (contains(bytes, start, to, 'keep-alive')) this.isKept = true
    }
    return true
  }

  #frame(): void {
    if (this.status === 204 || this.status === 304) {
      this.#left = 0
      this.#state = State.LENGTH
    } else if (this.#isChunked) {
      this.#left = 0
      this.#sizeDigits = 0
      this.#state = State.SIZE
    } else if (this.#length !== NO_LENGTH) {
      this.#left = this.#length
      this.#state = State.LENGTH
    } else {
      this.isKept = false
      this.#state = State.UNTIL_CLOSE
    }
  }

  #readLength(bytes: Uint8Array, from: number, to: number): Reading {
    const have = to - from
    if (have > this.#left) return Reading.BAD
    this.#take(bytes, from, to)
    this.#left -= have
    return this.#left === 0 ? Reading.WHOLE : Reading.MORE
  }

  #readChunks(bytes: Uint8Array, from: number, to: number): Reading {
    let at = from
    while (at < to) {
      if (this.#state === State.CHUNK) {
        const end = Math.min(to, at + this.#left)
        this.#take(bytes, at, end)
        this.#left -= end - at
        at = end
        if (this.#left === 0) this.#state = State.CHUNK_END
        continue
      }
      const byte = bytes[at] ?? 0
      at += 1
      const reading = this.#takeChunkByte(byte)
      if (reading === Reading.WHOLE) return at === to ? Reading.WHOLE : Reading.BAD
      if (reading === Reading.BAD) return reading
    }
    return Reading.MORE
  }

  #takeChunkByte(byte: number): Reading {
    switch (this.#state) {
      case State.SIZE:
        return this.#takeSizeByte(byte)
      case State.CHUNK_END:
        if (byte === CR) return Reading.MORE
        this.#state = State.SIZE
        this.#sizeDigits = 0
        return byte === LF ? Reading.MORE : Reading.BAD
      default:
        // Trailers, to the empty line.
        if (byte === LF && this.#isLineEmpty) return Reading.WHOLE
        this.#isLineEmpty = byte === LF || (byte === CR && this.#isLineEmpty)
        return Reading.MORE
    }
  }

  #takeSizeByte(byte: number): Reading {
    if (byte === LF) {
      if (this.#sizeDigits === 0) return Reading.BAD
      this.#state = this.#left === 0 ? State.TRAILER : State.CHUNK
      this.#isLineEmpty = true
      return Reading.MORE
    }
    const digit = hexDigit(byte)
    // Extensions and white space after the digits are skipped.
    if (digit < 0) return this.#sizeDigits === 0 ? Reading.BAD : this.#skipExtension()
    if (this.#sizeDigits < 0) return Reading.MORE
    this.#sizeDigits += 1
    this.#left = this.#left * 16 + digit
    return this.#sizeDigits > SIZE_DIGITS_MAX ? Reading.BAD : Reading.MORE
  }

  #skipExtension(): Reading {
    this.#sizeDigits = -1
    return Reading.MORE
  }

  #take(bytes: Uint8Array, from: number, to: number): void {
    if (this.#isChecked) this.#compare(bytes, from, to)
    this.bodyBytes += to - from
  }

  #compare(bytes: Uint8Array, from: number, to: number): void {
    const pattern = this.#pattern
    let place = this.bodyBytes % pattern.length
    for (let at = from; at < to; at += 1) {
      if (bytes[at] !== pattern[place]) this.isAsExpected = false
      place = place + 1 === pattern.length ? 0 : place + 1
    }
  }
}

/** Decimal digits with white space around, or -1. */
function numberAt(bytes: Uint8Array, from: number, to: number): number {
  let value = NO_LENGTH
  for (let at = from; at < to; at += 1) {
    const digit = (bytes[at] ?? 0) - DIGIT_0
    if (digit >= 0 && digit <= 9) value = Math.max(value, 0) * 10 + digit
    else if (bytes[at] !== SP) return -1
  }
  return value
}

function isNamed(bytes: Uint8Array, from: number, to: number, name: string): boolean {
  if (to - from <= name.length || bytes[from + name.length] !== COLON) return false
  return isText(bytes, from, name)
}

function contains(bytes: Uint8Array, from: number, to: number, word: string): boolean {
  for (let at = from; at + word.length <= to; at += 1) {
    if (isText(bytes, at, word)) return true
  }
  return false
}

/** `text` in lower case, without regard to the bytes' case. */
function isText(bytes: Uint8Array, from: number, text: string): boolean {
  for (let index = 0; index < text.length; index += 1) {
    if (((bytes[from + index] ?? 0) | LOWER) !== (text.charCodeAt(index) | LOWER)) return false
  }
  return true
}

function hexDigit(byte: number): number {
  if (byte >= DIGIT_0 && byte <= 0x39) return byte - DIGIT_0
  const letter = byte | LOWER
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1
}

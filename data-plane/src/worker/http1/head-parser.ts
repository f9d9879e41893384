/**
 * The one strict parser of request and answer heads. It reads bytes, knows no socket and no configuration,
 * keeps its result in fields that the next parse overwrites, and allocates nothing for a usual head. Hot.
 * RFC 9112 sections 2 to 6; where the RFC leaves a choice it refuses.
 */
import { limits } from '../../limits.ts'
import { COLON, CR, FIELD_VALUE, HTAB, LF, LOWER_CASE, SP, TARGET, TOKEN } from './characters.ts'
import { Field, fieldId, hashStep } from './field-names.ts'
import {
  ABSENT,
  BodyLength,
  hasElement,
  MALFORMED,
  parseContentLength,
  parseTransferCodings,
} from './framing.ts'

/** More bytes are needed. */
export const INCOMPLETE = -1

const CRLF_BYTES = 2
/** "0" stands for any digit. */
const VERSION = 'HTTP/0.0'
const DIGIT_MARK = 0x30
const LINE_END_INCOMPLETE = -1
const LINE_END_BAD = -2

/** The index just past the CRLF at `at`. */
function lineEnd(bytes: Uint8Array, at: number, to: number): number {
  if (at >= to) return LINE_END_INCOMPLETE
  if (bytes[at] !== CR) return LINE_END_BAD
  if (at + 1 >= to) return LINE_END_INCOMPLETE
  return bytes[at + 1] === LF ? at + 2 : LINE_END_BAD
}

/** Whether a part of a version is right so far: what cannot become one is refused, not waited for. */
function mayBeVersion(bytes: Uint8Array, from: number, to: number): boolean {
  for (let at = from; at < to; at += 1) {
    const expected = VERSION.charCodeAt(at - from)
    const digit = (bytes[at] ?? 0) - 0x30
    if (bytes[at] !== expected && (expected !== DIGIT_MARK || digit < 0 || digit > 9)) return false
  }
  return true
}

export class HeadParser {
  /** Offsets into the parsed bytes. */
  methodStart = 0
  methodEnd = 0
  targetStart = 0
  targetEnd = 0
  status = 0
  reasonStart = 0
  reasonEnd = 0
  /** 0 or 1: HTTP/1.0 or HTTP/1.1. */
  minorVersion = 1
  fieldCount = 0
  readonly fieldIds = new Uint8Array(limits.fieldsMax)
  readonly nameStarts = new Int32Array(limits.fieldsMax)
  readonly nameEnds = new Int32Array(limits.fieldsMax)
  readonly valueStarts = new Int32Array(limits.fieldsMax)
  readonly valueEnds = new Int32Array(limits.fieldsMax)
  /** Just past the last field's CRLF. */
  fieldsEnd = 0
  hostIndex = ABSENT
  userAgentIndex = ABSENT
  keepAliveIndex = ABSENT
  upgradeIndex = ABSENT
  hasExpect = false
  hasClose = false
  hasKeepAlive = false
  /** The TE field asks for trailers. */
  hasTrailersAccepted = false
  /** An answer's names have white space before their colon, which must not be passed on. */
  hasLooseNames = false
  /** Lower-case names that Connection nominates, beside close and keep-alive; null for none. */
  nominated: string[] | null = null
  /** How the body's end is found, by the head alone. */
  bodyLength: BodyLength = BodyLength.NONE
  /** Bytes, where bodyLength is LENGTH; also what a HEAD or 304 answer announces. ABSENT: not given. */
  contentLength = ABSENT
  /** The answer has both lengths: chunked counts and the connection is not kept (RFC 9112 section 6.3). */
  hasBothLengths = false
  #codings = ABSENT
  #lengthConflicts = false

  /** The index just past the head, INCOMPLETE, or the negative status to refuse the request with. */
  parseRequest(bytes: Uint8Array, from: number, to: number): number {
    this.#reset()
    let at = from
    if (at < to && bytes[at] === CR) {
      // One empty line before a request is skipped (RFC 9112 section 2.2).
      at = lineEnd(bytes, at, to)
      if (at < 0) return at === LINE_END_INCOMPLETE ? INCOMPLETE : -400
    }
    // Nothing beyond a limit is looked at, so that the verdict is the same however the bytes arrive.
    const lineTo = Math.min(to, at + limits.requestLineBytesMax + CRLF_BYTES)
    at = this.#parseRequestLine(bytes, at, lineTo)
    if (at < 0) return at === INCOMPLETE && to > lineTo ? -414 : at
    const headTo = Math.min(to, from + limits.headBytesMax)
    at = this.#parseFields(bytes, at, headTo, false)
    if (at < 0) return at === INCOMPLETE && to > headTo ? -431 : at
    return this.#frameRequest(at)
  }

  /** The index just past the head, INCOMPLETE, or -502 for an answer that cannot be trusted. */
  parseAnswer(bytes: Uint8Array, from: number, to: number): number {
    this.#reset()
    let at = this.#parseStatusLine(bytes, from, to)
    if (at >= 0) at = this.#parseFields(bytes, at, to, true)
    if (at === INCOMPLETE) return to - from > limits.headBytesMax ? -502 : INCOMPLETE
    if (at < 0 || at - from > limits.headBytesMax) return -502
    return this.#frameAnswer(at)
  }

  #reset(): void {
    this.fieldCount = 0
    this.hostIndex = ABSENT
    this.userAgentIndex = ABSENT
    this.keepAliveIndex = ABSENT
    this.upgradeIndex = ABSENT
    this.hasExpect = false
    this.hasClose = false
    this.hasKeepAlive = false
    this.hasTrailersAccepted = false
    this.hasLooseNames = false
    this.nominated = null
    this.bodyLength = BodyLength.NONE
    this.contentLength = ABSENT
    this.hasBothLengths = false
    this.#codings = ABSENT
    this.#lengthConflicts = false
  }

  #parseRequestLine(bytes: Uint8Array, from: number, to: number): number {
    let at = from
    this.methodStart = at
    while (at < to && TOKEN[bytes[at] ?? 0] === 1) at += 1
    this.methodEnd = at
    if (at - from > limits.methodBytesMax) return -400
    if (at >= to) return INCOMPLETE
    if (at === from || bytes[at] !== SP) return -400
    at += 1
    this.targetStart = at
    while (at < to && TARGET[bytes[at] ?? 0] === 1) at += 1
    this.targetEnd = at
    if (at >= to) return INCOMPLETE
    if (at === this.targetStart || bytes[at] !== SP) return -400
    return this.#parseVersion(bytes, at + 1, to)
  }

  /** "HTTP/1.x" CRLF */
  #parseVersion(bytes: Uint8Array, from: number, to: number): number {
    const versionEnd = this.#parseVersionNumber(bytes, from, to)
    if (versionEnd < 0) return versionEnd
    const end = lineEnd(bytes, versionEnd, to)
    if (end === LINE_END_INCOMPLETE) return INCOMPLETE
    return end < 0 ? -400 : end
  }

  #parseVersionNumber(bytes: Uint8Array, from: number, to: number): number {
    if (to - from < 8) return mayBeVersion(bytes, from, to) ? INCOMPLETE : -400
    const isHttp =
      bytes[from] === 0x48 &&
      bytes[from + 1] === 0x54 &&
      bytes[from + 2] === 0x54 &&
      bytes[from + 3] === 0x50 &&
      bytes[from + 4] === 0x2f &&
      bytes[from + 6] === 0x2e
    const major = (bytes[from + 5] ?? 0) - 0x30
    const minor = (bytes[from + 7] ?? 0) - 0x30
    if (!isHttp || major < 0 || major > 9 || minor < 0 || minor > 9) return -400
    if (major !== 1) return -505
    if (minor > 1) return -400
    this.minorVersion = minor
    return from + 8
  }

  #parseStatusLine(bytes: Uint8Array, from: number, to: number): number {
    const versionEnd = this.#parseVersionNumber(bytes, from, to)
    if (versionEnd < 0) return versionEnd
    if (versionEnd < to && bytes[versionEnd] !== SP) return -502
    if (to - versionEnd < 5) return INCOMPLETE
    const hundreds = (bytes[versionEnd + 1] ?? 0) - 0x30
    const tens = (bytes[versionEnd + 2] ?? 0) - 0x30
    const ones = (bytes[versionEnd + 3] ?? 0) - 0x30
    const areDigits =
      hundreds >= 1 && hundreds <= 5 && tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9
    if (!areDigits) return -502
    this.status = hundreds * 100 + tens * 10 + ones
    let at = versionEnd + 4
    // A status line may end right after the code, without the space that the grammar asks for.
    if (bytes[at] === SP) at += 1
    else if (bytes[at] !== CR) return -502
    this.reasonStart = at
    while (at < to && FIELD_VALUE[bytes[at] ?? 0] === 1) at += 1
    this.reasonEnd = at
    const end = lineEnd(bytes, at, to)
    if (end === LINE_END_INCOMPLETE) return INCOMPLETE
    return end < 0 ? -502 : end
  }

  /** All field lines and the empty line. A -400 here is any fault; parseAnswer turns it into -502. */
  #parseFields(bytes: Uint8Array, from: number, to: number, isAnswer: boolean): number {
    let at = from
    for (;;) {
      if (at >= to) return INCOMPLETE
      if (bytes[at] === CR) {
        this.fieldsEnd = at
        const end = lineEnd(bytes, at, to)
        if (end === LINE_END_INCOMPLETE) return INCOMPLETE
        return end < 0 ? -400 : end
      }
      if (this.fieldCount >= limits.fieldsMax) return -431
      at = this.#parseField(bytes, at, to, isAnswer)
      if (at < 0) return at
    }
  }

  #parseField(bytes: Uint8Array, from: number, to: number, isAnswer: boolean): number {
    let at = from
    let hash = 0
    let byte = 0
    while (at < to) {
      byte = bytes[at] ?? 0
      if (TOKEN[byte] !== 1) break
      hash = hashStep(hash, LOWER_CASE[byte] ?? 0)
      at += 1
    }
    if (at >= to) return INCOMPLETE
    const nameEnd = at
    if (isAnswer && at > from && (byte === SP || byte === HTAB)) {
      // A proxy takes white space before the colon out of an answer (RFC 9112 section 5.1).
      while (at < to && (bytes[at] === SP || bytes[at] === HTAB)) at += 1
      if (at >= to) return INCOMPLETE
      byte = bytes[at] ?? 0
      this.hasLooseNames = true
    }
    // Covers an empty name, white space before the colon and a folded line (RFC 9112 sections 5.1, 5.2).
    if (byte !== COLON || nameEnd === from) return -400
    at += 1
    while (at < to && (bytes[at] === SP || bytes[at] === HTAB)) at += 1
    const valueStart = at
    while (at < to && FIELD_VALUE[bytes[at] ?? 0] === 1) at += 1
    const end = lineEnd(bytes, at, to)
    if (end < 0) return end === LINE_END_INCOMPLETE ? INCOMPLETE : -400
    let valueEnd = at
    while (valueEnd > valueStart && (bytes[valueEnd - 1] === SP || bytes[valueEnd - 1] === HTAB)) {
      valueEnd -= 1
    }
    const index = this.fieldCount
    this.nameStarts[index] = from
    this.nameEnds[index] = nameEnd
    this.valueStarts[index] = valueStart
    this.valueEnds[index] = valueEnd
    const id = fieldId(bytes, from, nameEnd, hash)
    this.fieldIds[index] = id
    this.fieldCount = index + 1
    if (id === Field.OTHER || this.#note(bytes, id, index, valueStart, valueEnd)) return end
    return -400
  }

  /** Takes in a field that the engine acts on. False: the message is refused. */
  #note(bytes: Uint8Array, id: number, index: number, from: number, to: number): boolean {
    switch (id) {
      case Field.HOST:
        if (this.hostIndex !== ABSENT) return false
        this.hostIndex = index
        return true
      case Field.CONTENT_LENGTH:
        return this.#noteContentLength(bytes, from, to)
      case Field.TRANSFER_ENCODING:
        // A second line is a list of codings in which chunked is not the last, or stands twice.
        this.#codings = this.#codings === ABSENT ? parseTransferCodings(bytes, from, to) : MALFORMED
        return true
      case Field.CONNECTION:
        this.#noteConnection(bytes, from, to)
        return true
      case Field.USER_AGENT:
        this.userAgentIndex = index
        return true
      case Field.KEEP_ALIVE:
        this.keepAliveIndex = index
        return true
      case Field.EXPECT:
        this.hasExpect = true
        return true
      case Field.UPGRADE:
        this.upgradeIndex = index
        return true
      case Field.TE:
        this.hasTrailersAccepted ||= hasElement(bytes, from, to, 'trailers')
        return true
      default:
        return true
    }
  }

  #noteContentLength(bytes: Uint8Array, from: number, to: number): boolean {
    const length = parseContentLength(bytes, from, to)
    if (length === MALFORMED) return false
    if (this.contentLength !== ABSENT) this.#lengthConflicts = true
    if (this.contentLength !== ABSENT && this.contentLength !== length) return false
    this.contentLength = length
    return true
  }

  #noteConnection(bytes: Uint8Array, from: number, to: number): void {
    let start = from
    for (let at = from; at <= to; at += 1) {
      if (at < to && bytes[at] !== 0x2c) continue
      this.#noteOption(bytes, start, at)
      start = at + 1
    }
  }

  #noteOption(bytes: Uint8Array, from: number, to: number): void {
    let option = ''
    for (let at = from; at < to; at += 1) {
      const byte = bytes[at] ?? 0
      if (byte !== SP && byte !== HTAB) option += String.fromCharCode(LOWER_CASE[byte] ?? 0)
    }
    if (option === 'close') this.hasClose = true
    else if (option === 'keep-alive') this.hasKeepAlive = true
    else if (option !== '') {
      this.nominated ??= []
      this.nominated.push(option)
    }
  }

  #frameRequest(end: number): number {
    if (this.#codings !== ABSENT) {
      // Two readings of one length is how requests are smuggled (RFC 9112 section 6.3).
      if (this.contentLength !== ABSENT || this.minorVersion === 0) return -400
      if (this.#codings !== BodyLength.CHUNKED) return this.#codings === MALFORMED ? -400 : -501
      this.bodyLength = BodyLength.CHUNKED
      return end
    }
    if (this.#lengthConflicts) return -400
    if (this.contentLength > 0) this.bodyLength = BodyLength.LENGTH
    return end
  }

  #frameAnswer(end: number): number {
    if (this.#codings !== ABSENT) {
      if (this.#codings !== BodyLength.CHUNKED || this.minorVersion === 0) return -502
      this.hasBothLengths = this.contentLength !== ABSENT
      this.contentLength = ABSENT
      this.bodyLength = BodyLength.CHUNKED
    } else if (this.contentLength === ABSENT) {
      this.bodyLength = BodyLength.UNTIL_CLOSE
    } else if (this.contentLength > 0) {
      this.bodyLength = BodyLength.LENGTH
    }
    return end
  }
}

/** How long a body is: the syntax of Content-Length and Transfer-Encoding (RFC 9112 section 6). Hot. */
import { HTAB, LOWER_CASE, SP } from './characters.ts'

export const ABSENT = -1
export const MALFORMED = -2

export const BodyLength = Object.freeze({ NONE: 0, LENGTH: 1, CHUNKED: 2, UNTIL_CLOSE: 3 })
export type BodyLength = (typeof BodyLength)[keyof typeof BodyLength]

/** More than any body, and below 2^53, so that lengths are exact. */
const LENGTH_DIGITS_MAX = 15
/** A known coding that this proxy does not undo. */
export const UNSUPPORTED = 9

/** The length in bytes, or MALFORMED. Leading zeros are decimal (RFC 9110 section 8.6). */
export function parseContentLength(bytes: Uint8Array, from: number, to: number): number {
  if (from >= to || to - from > LENGTH_DIGITS_MAX) return MALFORMED
  let length = 0
  for (let at = from; at < to; at += 1) {
    const digit = (bytes[at] ?? 0) - 0x30
    if (digit < 0 || digit > 9) return MALFORMED
    length = length * 10 + digit
  }
  return length
}

/**
 * BodyLength.CHUNKED for exactly "chunked"; UNSUPPORTED for known codings with chunked as the last one;
 * MALFORMED for all else (RFC 9112 sections 6.1 and 7).
 */
export function parseTransferCodings(bytes: Uint8Array, from: number, to: number): number {
  if (isWord(bytes, from, to, 'chunked')) return BodyLength.CHUNKED
  let start = from
  let chunkedAt = -1
  let count = 0
  for (let at = from; at <= to; at += 1) {
    if (at < to && bytes[at] !== 0x2c) continue
    const [first, last] = trimmed(bytes, start, at)
    if (isWord(bytes, first, last, 'chunked')) {
      if (chunkedAt !== -1) return MALFORMED
      chunkedAt = count
    } else if (!KNOWN_CODINGS.some((coding) => isWord(bytes, first, last, coding))) {
      return MALFORMED
    }
    count += 1
    start = at + 1
  }
  return chunkedAt === count - 1 ? UNSUPPORTED : MALFORMED
}

const KNOWN_CODINGS = ['gzip', 'x-gzip', 'deflate', 'compress', 'x-compress']

/** Whether a comma-separated list has the lower-case word as an element, in any case. */
export function hasElement(bytes: Uint8Array, from: number, to: number, word: string): boolean {
  let start = from
  for (let at = from; at <= to; at += 1) {
    if (at < to && bytes[at] !== 0x2c) continue
    const [first, last] = trimmed(bytes, start, at)
    if (isWord(bytes, first, last, word)) return true
    start = at + 1
  }
  return false
}

function trimmed(bytes: Uint8Array, from: number, to: number): [number, number] {
  let first = from
  let last = to
  while (first < last && (bytes[first] === SP || bytes[first] === HTAB)) first += 1
  while (last > first && (bytes[last - 1] === SP || bytes[last - 1] === HTAB)) last -= 1
  return [first, last]
}

/** Whether bytes[from..to) are the lower-case word, in any case. */
function isWord(bytes: Uint8Array, from: number, to: number, word: string): boolean {
  if (to - from !== word.length) return false
  for (let at = 0; at < word.length; at += 1) {
    if (LOWER_CASE[bytes[from + at] ?? 0] !== word.charCodeAt(at)) return false
  }
  return true
}

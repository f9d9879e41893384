/**
 * What a request is about: host and path, checked, in the form that routers are matched against. Matching and
 * forwarding must read the same path, or rules can be walked around. Hot, with a plain path for usual targets.
 */
import { HEX_VALUE, HOST_NAME, SLASH } from './characters.ts'

const PERCENT = 0x25
const DOT = 0x2e
const PORT_MAX = 65_535
const HOST_CHARACTERS_MAX = 255

export type Path =
  /** `matched`: unreserved characters decoded, dot segments removed. `forwarded`: what the server gets. */
  { readonly matched: string; readonly forwarded: string } | undefined

/** Whether a path may be matched and forwarded as it is: no escape, no segment that starts with a dot. */
export function isPlainPath(bytes: Uint8Array, from: number, to: number): boolean {
  for (let at = from; at < to; at += 1) {
    const byte = bytes[at]
    if (byte === PERCENT || byte === 0x5c || byte === 0x3b) return false
    if (byte === DOT && at > from && bytes[at - 1] === SLASH) return false
  }
  return true
}

/**
 * RFC 3986 sections 5.2.4 and 6.2.2.3. undefined: the path must be refused, since it climbs above the root,
 * has a malformed escape or an encoded NUL, or hides a ".." segment behind an encoded slash, a backslash
 * or ";", which some servers would take for one.
 */
export function normalisePath(path: string): Path {
  const segments = path.split('/')
  const matched: string[] = []
  const forwarded: string[] = []
  let hasDots = false
  for (let index = 1; index < segments.length; index += 1) {
    const raw = segments[index] ?? ''
    const decoded = decodeUnreserved(raw)
    if (decoded === undefined || (decoded !== '..' && hidesDotDot(decoded))) return undefined
    const isLast = index === segments.length - 1
    if (decoded !== '.' && decoded !== '..') {
      matched.push(decoded)
      forwarded.push(raw)
      continue
    }
    hasDots = true
    if (decoded === '..' && matched.length === 0) return undefined
    if (decoded === '..') {
      matched.pop()
      forwarded.pop()
    }
    if (isLast) {
      matched.push('')
      forwarded.push('')
    }
  }
  return {
    matched: `/${matched.join('/')}`,
    forwarded: hasDots ? `/${forwarded.join('/')}` : path,
  }
}

/** undefined: a malformed escape or an encoded NUL. */
function decodeUnreserved(segment: string): string | undefined {
  if (!segment.includes('%')) return segment
  let decoded = ''
  for (let at = 0; at < segment.length; at += 1) {
    const character = segment[at] ?? ''
    if (character !== '%') {
      decoded += character
      continue
    }
    const byte = escapedByte(segment, at)
    if (byte <= 0) return undefined
    decoded += isUnreserved(byte) ? String.fromCharCode(byte) : segment.slice(at, at + 3)
    at += 2
  }
  return decoded
}

/** -1: not two hexadecimal digits. */
function escapedByte(text: string, at: number): number {
  const high = HEX_VALUE[text.charCodeAt(at + 1)] ?? 255
  const low = HEX_VALUE[text.charCodeAt(at + 2)] ?? 255
  return high === 255 || low === 255 ? -1 : high * 16 + low
}

/** RFC 3986 section 2.3. */
function isUnreserved(byte: number): boolean {
  const isAlpha = (byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x7a
  return isAlpha || (byte >= 0x30 && byte <= 0x39) || '-._~'.includes(String.fromCharCode(byte))
}

function hidesDotDot(segment: string): boolean {
  if (!segment.includes('..')) return false
  return segment
    .replaceAll(/%2f|%5c/gi, '/')
    .replaceAll(/[\\;]/g, '/')
    .split('/')
    .includes('..')
}

/** Whether every "%" in a query is followed by two hexadecimal digits. */
export function areEscapesWhole(bytes: Uint8Array, from: number, to: number): boolean {
  for (let at = from; at < to; at += 1) {
    if (bytes[at] !== PERCENT) continue
    if (at + 2 >= to) return false
    if (HEX_VALUE[bytes[at + 1] ?? 0] === 255 || HEX_VALUE[bytes[at + 2] ?? 0] === 255) return false
  }
  return true
}

/**
 * The index just past the host's name in bytes[from..to), which hold `uri-host [":" port]` (RFC 9110
 * section 7.2), or -1 when they do not.
 */
export function hostNameEnd(bytes: Uint8Array, from: number, to: number): number {
  if (from >= to || to - from > HOST_CHARACTERS_MAX) return -1
  const nameEnd =
    bytes[from] === 0x5b ? addressEnd(bytes, from, to) : nameCharactersEnd(bytes, from, to)
  if (nameEnd <= from || (nameEnd === from + 1 && bytes[from] === DOT)) return -1
  if (nameEnd === to) return nameEnd
  if (bytes[nameEnd] !== 0x3a || to - nameEnd > 6) return -1
  let port = 0
  for (let at = nameEnd + 1; at < to; at += 1) {
    const digit = (bytes[at] ?? 0) - 0x30
    if (digit < 0 || digit > 9) return -1
    port = port * 10 + digit
  }
  const isWithoutPort = nameEnd + 1 === to
  return isWithoutPort || (port > 0 && port <= PORT_MAX) ? nameEnd : -1
}

function nameCharactersEnd(bytes: Uint8Array, from: number, to: number): number {
  let at = from
  while (at < to && HOST_NAME[bytes[at] ?? 0] === 1) at += 1
  return at
}

/** "[" IPv6 address "]" */
function addressEnd(bytes: Uint8Array, from: number, to: number): number {
  let at = from + 1
  while (
    at < to &&
    (HEX_VALUE[bytes[at] ?? 0] !== 255 || bytes[at] === 0x3a || bytes[at] === DOT)
  ) {
    at += 1
  }
  return at < to && bytes[at] === 0x5d && at > from + 2 ? at + 1 : -1
}

/** A host's name as routers have it: lower case, without the root's dot. */
export function canonicalHost(name: string): string {
  const lowerCase = name.toLowerCase()
  return lowerCase.endsWith('.') ? lowerCase.slice(0, -1) : lowerCase
}

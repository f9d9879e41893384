/**
 * Whether a request's host and path may be read as they came. What they are matched as is in @sluice/matching.
 * Hot, with a plain path for usual targets.
 */
import { HEX_VALUE, HOST_NAME, SLASH } from './characters.ts'

const PERCENT = 0x25
const DOT = 0x2e
const PORT_MAX = 65_535
const HOST_CHARACTERS_MAX = 255

/** Whether a path may be matched and forwarded as it is: no escape, no segment that starts with a dot. */
export function isPlainPath(bytes: Uint8Array, from: number, to: number): boolean {
  for (let at = from; at < to; at += 1) {
    const byte = bytes[at]
    if (byte === PERCENT || byte === 0x5c || byte === 0x3b) return false
    if (byte === DOT && at > from && bytes[at - 1] === SLASH) return false
  }
  return true
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

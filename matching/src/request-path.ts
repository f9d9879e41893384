/**
 * Host and path in the form that routers are matched against. Matching and forwarding must read the same path,
 * or rules can be walked around. Workers come here only with paths that are not plain.
 */

export type Path =
  /** `matched`: unreserved characters decoded, dot segments removed. `forwarded`: what the server gets. */
  { readonly matched: string; readonly forwarded: string } | undefined

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
  const digits = text.slice(at + 1, at + 3)
  return /^[0-9a-f]{2}$/i.test(digits) ? Number.parseInt(digits, 16) : -1
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

/** A host's name as routers have it: lower case, without the root's dot. */
export function canonicalHost(name: string): string {
  const lowerCase = name.toLowerCase()
  return lowerCase.endsWith('.') ? lowerCase.slice(0, -1) : lowerCase
}

/**
 * Which trailer fields go on (RFC 9110 section 6.5.1): none that frames, routes, authenticates or controls,
 * since who reads them late might act on them all the same.
 */

const FORBIDDEN = new Set([
  'authorization',
  'cache-control',
  'connection',
  'content-encoding',
  'content-length',
  'content-range',
  'content-type',
  'cookie',
  'expect',
  'forwarded',
  'host',
  'http2-settings',
  'if-match',
  'if-modified-since',
  'if-none-match',
  'if-range',
  'if-unmodified-since',
  'keep-alive',
  'location',
  'max-forwards',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'range',
  'set-cookie',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'vary',
  'www-authenticate',
])

/** The lines to pass on. `lines`: as ChunkedDecoder.trailers has them. */
export function keptTrailers(lines: string): string {
  if (lines === '') return ''
  let kept = ''
  for (const line of lines.split('\r\n')) {
    const name = line.slice(0, line.indexOf(':')).toLowerCase()
    if (line === '' || FORBIDDEN.has(name) || name.startsWith('x-forwarded-')) continue
    kept += `${line}\r\n`
  }
  return kept
}

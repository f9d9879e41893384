/**
 * Rules for single values. Each check returns why the value is no good, as the end of a sentence that
 * begins with the field, or undefined when it is good.
 */
import { isIP, isIPv4, isIPv6 } from 'node:net'
import { domainToASCII } from 'node:url'
import { RE2JS } from 're2js'
import { limits } from './limits.ts'

type Reason = string | undefined

const label = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/
// RFC 9110 section 5.6.2.
const methodToken = /^[!#$%&'*+.^_`|~0-9A-Z-]+$/
const number = /^(0|[1-9][0-9]{0,5})$/
const portMax = 65_535

/** An exact DNS name or one with "*" as its first label; expects lower case. */
export function hostReason(host: string): Reason {
  const name = host.startsWith('*.') ? host.slice(2) : host
  if (name === '' || name === '*') return `"${host}" is not a host name`
  if (name.includes('*')) {
    return `"${host}" has a "*" that does not stand for the whole first label, as in "*.example.com"`
  }
  if (name.includes('/')) return `"${host}" is not a host name: it has a "/"`
  if (name.includes(':')) return `"${host}" is not a host name: it has a ":", and takes no port`
  if (name.endsWith('.')) return `"${host}" ends in a dot; leave it out`
  if (!isAscii(name)) return internationalReason(host, name)
  if (host.length > limits.hostCharactersMax) {
    return `"${host.slice(0, 40)}..." is longer than ${limits.hostCharactersMax} characters`
  }
  const bad = name.split('.').find((part) => !label.test(part))
  if (bad === undefined) return undefined
  return `"${host}" is not a host name: label "${bad}" must be 1 to 63 letters, digits and inner "-"`
}

function internationalReason(host: string, name: string): string {
  const ascii = domainToASCII(name)
  const prefix = host.startsWith('*.') ? '*.' : ''
  const help = ascii === '' ? '' : `: write "${prefix}${ascii}"`
  return `"${host}" must be written in A-labels${help}`
}

/** A host name or an IP address. */
export function certificateHostReason(host: string): Reason {
  return isIP(host) !== 0 && !host.includes('%') ? undefined : hostReason(host)
}

/** An address with a prefix length. */
export function rangeReason(range: string): Reason {
  const [address = '', prefix, ...rest] = range.split('/')
  const family = address.includes('%') ? 0 : isIP(address)
  if (family === 0) return `"${range}" is not a CIDR range like "10.0.0.0/8" or "2001:db8::/32"`
  const bits = family === 4 ? 32 : 128
  if (prefix === undefined) return `"${range}" has no prefix length; write "${range}/${bits}"`
  if (rest.length > 0 || !number.test(prefix) || Number(prefix) > bits) {
    return `"${range}" has a prefix length that is not 0 to ${bits}`
  }
  return undefined
}

export function regexReason(expression: string): Reason {
  try {
    RE2JS.compile(expression)
    return undefined
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    return `"${expression}" is not an RE2 expression: ${why}`
  }
}

export function pathPrefixReason(prefix: string): Reason {
  if (!prefix.startsWith('/')) return `"${prefix}" does not start with "/"`
  if (/[?#]/.test(prefix))
    return `"${prefix}" has a query or fragment; a prefix is of the path only`
  if (!/^[!-~]+$/.test(prefix)) {
    return `"${prefix}" has a character that is not printable ASCII; percent-encode it`
  }
  return undefined
}

/** Expects upper case. */
export function methodReason(method: string): Reason {
  return methodToken.test(method) ? undefined : `"${method}" is not a method token`
}

/** http://HOST:PORT and nothing more. */
export function serverUrlReason(url: string): Reason {
  if (/^https:/i.test(url)) return `"${url}" is https; servers are spoken to over http`
  const authority = /^http:\/\/(.*)$/.exec(url)?.[1]
  if (authority === undefined) return `"${url}" does not start with "http://"`
  if (authority.includes('@')) return 'has user information, which is not allowed'
  if (/[/?#]/.test(authority)) return `"${url}" has more than a host and a port`
  const split = splitHostPort(authority)
  if (split === undefined) return `"${url}" names no port, as in "http://${authority}:80"`
  const { host, port } = split
  if (!isPort(port) || port === '0') return `"${url}" has a port that is not 1 to ${portMax}`
  if (host.startsWith('[')) return bracketReason(url, host)
  // Names that end in a number are read as IPv4 addresses, so not every text of the right characters is a host.
  return isServerHost(host) && URL.canParse(url)
    ? undefined
    : `"${url}" has a host that is not a name or an address`
}

// Names inside private networks have underscores (Docker, Windows), which DNS allows.
function isServerHost(host: string): boolean {
  return (
    host.length <= limits.hostCharactersMax && /^[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?$/i.test(host)
  )
}

function bracketReason(whole: string, host: string): Reason {
  const isClosed = host.endsWith(']')
  if (isClosed && isIPv6(host.slice(1, -1)) && !host.includes('%')) return undefined
  return `"${whole}" has something else than an IPv6 address in brackets`
}

/** HOST:PORT, [IPV6]:PORT or :PORT; nodes look names up. */
export function addressReason(address: string): Reason {
  const split = splitHostPort(address)
  if (split === undefined) return `"${address}" is not an address like "127.0.0.1:8080" or ":8080"`
  const { host, port } = split
  if (!isPort(port)) return `"${address}" has a port that is not 0 to ${portMax}`
  if (host === '' || isIPv4(host)) return undefined
  if (host.startsWith('[')) return bracketReason(address, host)
  if (isIPv6(host)) return `"${address}" needs brackets around its IPv6 address`
  return isServerHost(host)
    ? undefined
    : `"${address}" has a host that is not an IP address or a name`
}

/** Whether two valid addresses cannot be listened on at once by one machine. */
export function addressesCollide(left: string, right: string): boolean {
  const a = splitHostPort(left)
  const b = splitHostPort(right)
  if (a === undefined || b === undefined || a.port !== b.port || a.port === '0') return false
  const coversAll = (host: string) => host === '' || host === '[::]'
  if (a.host === b.host || coversAll(a.host) || coversAll(b.host)) return true
  const coversIpv4 = (one: string, other: string) => one === '0.0.0.0' && isIPv4(other)
  return coversIpv4(a.host, b.host) || coversIpv4(b.host, a.host)
}

function splitHostPort(text: string): { host: string; port: string } | undefined {
  const [, host, port] = /^(.*):([^:\]]*)$/.exec(text) ?? []
  return host === undefined || port === undefined ? undefined : { host, port }
}

function isPort(text: string): boolean {
  return number.test(text) && Number(text) <= portMax
}

function isAscii(text: string): boolean {
  return /^[\0-\x7f]*$/.test(text)
}

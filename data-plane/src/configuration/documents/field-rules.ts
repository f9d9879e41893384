/**
 * Rules for single values of documents, the same as the control plane's. Each returns why a value is no
 * good, as the end of a sentence that begins with the field, or undefined.
 */
import { isIP, isIPv4, isIPv6 } from 'node:net'
import { domainToASCII } from 'node:url'
import { RE2JS } from 're2js'
import { documentLimits as limits } from './schemas.ts'

type Reason = string | undefined

const PORT_MAX = 65_535
const HOST_LABEL = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/
/** Names inside private networks have underscores, which DNS allows. */
const NETWORK_NAME = /^[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?$/i
/** RFC 9110 section 5.6.2, upper case. */
const METHOD = /^[!#$%&'*+.^_`|~0-9A-Z-]+$/
const NUMBER = /^(0|[1-9][0-9]{0,5})$/

/** An exact DNS name, or one whose first label is "*"; lower case. */
export function hostReason(host: string): Reason {
  const name = host.startsWith('*.') ? host.slice(2) : host
  const isAscii = [...name].every((character) => character <= '\x7f')
  if (!isAscii) {
    const ascii = domainToASCII(name)
    const prefix = host.startsWith('*.') ? '*.' : ''
    return `"${host}" must be written in A-labels${ascii === '' ? '' : `: "${prefix}${ascii}"`}`
  }
  if (host.length > limits.hostCharactersMax) {
    return `"${host.slice(0, 40)}..." is longer than ${limits.hostCharactersMax} characters`
  }
  if (name.endsWith('.')) return `"${host}" ends in a dot; leave it out`
  const bad = name.split('.').find((label) => !HOST_LABEL.test(label))
  if (bad === undefined) return undefined
  if (bad.includes('*')) {
    return `"${host}" has a "*" that does not stand for the whole first label, as in "*.example.com"`
  }
  return `"${host}" is not a host name: label "${bad}" must be 1 to 63 letters, digits and inner "-"`
}

export function rangeReason(range: string): Reason {
  const [address = '', prefix, ...rest] = range.split('/')
  const family = address.includes('%') ? 0 : isIP(address)
  if (family === 0) return `"${range}" is not a CIDR range like "10.0.0.0/8" or "2001:db8::/32"`
  const bitsMax = family === 4 ? 32 : 128
  if (prefix === undefined) return `"${range}" has no prefix length; write "${range}/${bitsMax}"`
  if (rest.length === 0 && NUMBER.test(prefix) && Number(prefix) <= bitsMax) return undefined
  return `"${range}" has a prefix length that is not 0 to ${bitsMax}`
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
  if (/^[!-~]+$/.test(prefix)) return undefined
  return `"${prefix}" has a character that is not printable ASCII; percent-encode it`
}

export function methodReason(method: string): Reason {
  return METHOD.test(method) ? undefined : `"${method}" is not a method token`
}

/** http://HOST:PORT and nothing more. */
export function serverUrlReason(url: string): Reason {
  if (url.startsWith('https:')) return `"${url}" is https; servers are spoken to over http`
  if (!url.startsWith('http://')) return `"${url}" does not start with "http://"`
  const authority = url.slice('http://'.length)
  // Not quoted: it may be a password.
  if (authority.includes('@')) return 'has user information, which is not allowed'
  if (/[/?#]/.test(authority)) return `"${url}" has more than a host and a port`
  const split = splitAddress(authority)
  if (split === undefined) return `"${url}" names no port, as in "http://${authority}:80"`
  if (!isPort(split.port) || split.port === '0') {
    return `"${url}" has a port that is not 1 to ${PORT_MAX}`
  }
  // Names that end in a number are read as IPv4 addresses, so not every text of the right characters is a host.
  const isHost = isBracketedIpv6(split.host) || isNetworkName(split.host)
  if (isHost && URL.canParse(url)) return undefined
  return `"${url}" has a host that is not a name or an address`
}

/** HOST:PORT, [IPV6]:PORT or :PORT. */
export function addressReason(address: string): Reason {
  const split = splitAddress(address)
  if (split === undefined) return `"${address}" is not an address like "127.0.0.1:8080" or ":8080"`
  const { host, port } = split
  if (!isPort(port)) return `"${address}" has a port that is not 0 to ${PORT_MAX}`
  if (host === '' || isBracketedIpv6(host) || isNetworkName(host)) return undefined
  if (isIPv6(host)) return `"${address}" needs brackets around its IPv6 address`
  return `"${address}" has a host that is not an IP address or a name`
}

/** Whether one machine cannot listen on both of two valid addresses. */
export function addressesCollide(one: string, other: string): boolean {
  const a = splitAddress(one)
  const b = splitAddress(other)
  if (a === undefined || b === undefined || a.port !== b.port || a.port === '0') return false
  return a.host === b.host || covers(a.host, b.host) || covers(b.host, a.host)
}

function covers(host: string, other: string): boolean {
  return host === '' || host === '[::]' || (host === '0.0.0.0' && isIPv4(other))
}

function splitAddress(text: string): { host: string; port: string } | undefined {
  const [, host, port] = /^(.*):([^:\]]*)$/.exec(text) ?? []
  return host === undefined || port === undefined ? undefined : { host, port }
}

function isPort(text: string): boolean {
  return NUMBER.test(text) && Number(text) <= PORT_MAX
}

function isBracketedIpv6(host: string): boolean {
  return /^\[[^%]*\]$/.test(host) && isIPv6(host.slice(1, -1))
}

function isNetworkName(host: string): boolean {
  return host.length <= limits.hostCharactersMax && NETWORK_NAME.test(host)
}

const LABEL_KEY = /^[A-Za-z0-9]([A-Za-z0-9._/-]*[A-Za-z0-9])?$/
const LABEL_VALUE = /^[\x20-\x7e]*$/

/** Labels that select nodes. */
export function labelsReason(labels: Readonly<Record<string, string>>): Reason {
  const { labelsMax, labelKeyCharactersMax, labelValueCharactersMax } = limits
  const entries = Object.entries(labels)
  if (entries.length > labelsMax) {
    return `has ${entries.length} entries; at most ${labelsMax} are taken`
  }
  for (const [key, value] of entries) {
    if (key.length > labelKeyCharactersMax || !LABEL_KEY.test(key)) {
      return `has the key "${key.slice(0, labelKeyCharactersMax)}", which is not 1 to ${labelKeyCharactersMax} letters, digits, ".", "_", "/" or "-"`
    }
    if (value.length > labelValueCharactersMax || !LABEL_VALUE.test(value)) {
      return `has a value for "${key}" that is not at most ${labelValueCharactersMax} printable ASCII characters`
    }
  }
  return undefined
}

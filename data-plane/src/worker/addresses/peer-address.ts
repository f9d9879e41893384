/** Addresses of peers and clients in the one form that ranges, fields and log lines have. */
import { type BlockList, isIP, isIPv4, isIPv6 } from 'node:net'

const PORT_DIGITS_MAX = 5

/** IPv4 inside IPv6 as IPv4, and without a zone, which means nothing to anyone else. */
export function plainAddress(address: string): string {
  if (address.startsWith('::ffff:') && isIPv4(address.slice(7))) return address.slice(7)
  const zone = address.indexOf('%')
  return zone === -1 ? address : address.slice(0, zone)
}

/** The address of an X-Forwarded-For element: ADDRESS, IPV4:PORT, [IPV6] or [IPV6]:PORT; '' for any other text. */
export function elementAddress(element: string): string {
  if (isIP(element) !== 0) return plainAddress(element)
  const end = element.startsWith('[') ? element.indexOf(']') + 1 : element.indexOf(':')
  if (end <= 0) return ''
  const rest = element.slice(end)
  if (rest !== '' && !isPort(rest)) return ''
  if (!element.startsWith('[')) {
    const address = element.slice(0, end)
    return isIPv4(address) ? address : ''
  }
  const address = element.slice(1, end - 1)
  return isIPv6(address) ? plainAddress(address) : ''
}

export function isInRanges(ranges: BlockList, address: string): boolean {
  return address !== '' && ranges.check(address, isIPv6(address) ? 'ipv6' : 'ipv4')
}

/** ":" and digits. */
function isPort(text: string): boolean {
  if (!text.startsWith(':') || text.length === 1 || text.length > 1 + PORT_DIGITS_MAX) return false
  for (let at = 1; at < text.length; at += 1) {
    if (text.charCodeAt(at) < 0x30 || text.charCodeAt(at) > 0x39) return false
  }
  return true
}

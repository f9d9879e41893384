/** Addresses between their text and the bytes of PROXY protocol headers. */
import { isIPv4, isIPv6 } from 'node:net'

export function ipv4Text(bytes: Uint8Array, at: number): string {
  return `${bytes[at]}.${bytes[at + 1]}.${bytes[at + 2]}.${bytes[at + 3]}`
}

/** IPv4 inside IPv6 as IPv4. */
export function ipv6Text(bytes: Uint8Array, at: number): string {
  const groups: string[] = []
  for (let index = at; index < at + 16; index += 2) {
    groups.push((((bytes[index] ?? 0) << 8) | (bytes[index + 1] ?? 0)).toString(16))
  }
  const isMapped = groups.slice(0, 6).join(':') === '0:0:0:0:0:ffff'
  return isMapped ? ipv4Text(bytes, at + 12) : canonicalIpv6(groups.join(':'))
}

/** RFC 5952, as the URL standard has it. */
function canonicalIpv6(address: string): string {
  return new URL(`http://[${address}]`).hostname.slice(1, -1)
}

/** 4 or 16 bytes; undefined: no address. */
export function addressBytes(address: string): number[] | undefined {
  if (isIPv4(address)) return address.split('.').map(Number)
  if (!isIPv6(address) || address.includes('%')) return undefined
  const [left = '', right] = canonicalIpv6(address).split('::')
  const before = groupsOf(left)
  const after = groupsOf(right ?? '')
  const zeros = Array<number>(8 - before.length - after.length).fill(0)
  return [...before, ...zeros, ...after].flatMap((group) => [group >> 8, group & 0xff])
}

function groupsOf(text: string): number[] {
  return text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16))
}

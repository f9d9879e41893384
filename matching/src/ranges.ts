/** CIDR ranges in the form that addresses are looked up in. */
import { BlockList, isIP } from 'node:net'

/** undefined for an empty list. */
export function compileRanges(
  ranges: readonly string[],
  report: (index: number, reason: string) => void,
): BlockList | undefined {
  if (ranges.length === 0) return undefined
  const list = new BlockList()
  for (const [index, range] of ranges.entries()) {
    const [address = '', bits] = range.split('/')
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4'
    const bitsMax = family === 'ipv6' ? 128 : 32
    const prefixBits = bits === undefined ? bitsMax : Number(bits)
    if (isIP(address) === 0 || !(prefixBits >= 0 && prefixBits <= bitsMax)) {
      report(index, `"${range}" is not a CIDR range`)
    } else {
      list.addSubnet(address, prefixBits, family)
    }
  }
  return list
}

/** Writes PROXY protocol headers, versions 1 and 2 (haproxy's doc/proxy-protocol.txt), without TLVs. */

import { addressBytes } from '../addresses/address-bytes.ts'
import { plainAddress } from '../addresses/peer-address.ts'
import type { Endpoints, Transport } from '../transport/transport.ts'

const SIGNATURE = [0x0d, 0x0a, 0x0d, 0x0a, 0x00, 0x0d, 0x0a, 0x51, 0x55, 0x49, 0x54, 0x0a]
const UNKNOWN: Endpoints = {
  sourceAddress: '',
  sourcePort: 0,
  destinationAddress: '',
  destinationPort: 0,
}
/** Version 2, PROXY. */
const VERSION_AND_COMMAND = 0x21
/** The family, over TCP. */
const FAMILIES: Readonly<Record<number, number>> = { 4: 0x11, 16: 0x21 }

/**
 * About a client's connection. Latin-1: one character for each byte. Ends that are not of one family, or of a
 * connection that is gone, are said to be unknown.
 */
export function proxyHeader(version: 'v1' | 'v2', client: Transport | undefined): string {
  const ends = client?.endpoints() ?? UNKNOWN
  const sourceAddress = plainAddress(ends.sourceAddress)
  const destinationAddress = plainAddress(ends.destinationAddress)
  const source = addressBytes(sourceAddress)
  const destination = addressBytes(destinationAddress)
  if (source === undefined || destination === undefined || source.length !== destination.length) {
    return version === 'v1'
      ? 'PROXY UNKNOWN\r\n'
      : latin1([...SIGNATURE, VERSION_AND_COMMAND, 0, 0, 0])
  }
  const { sourcePort, destinationPort } = ends
  if (version === 'v1') {
    const protocol = source.length === 4 ? 'TCP4' : 'TCP6'
    return `PROXY ${protocol} ${sourceAddress} ${destinationAddress} ${sourcePort} ${destinationPort}\r\n`
  }
  const addresses = [
    ...source,
    ...destination,
    ...twoBytes(sourcePort),
    ...twoBytes(destinationPort),
  ]
  return latin1([
    ...SIGNATURE,
    VERSION_AND_COMMAND,
    FAMILIES[source.length] ?? 0,
    ...twoBytes(addresses.length),
    ...addresses,
  ])
}

function twoBytes(value: number): number[] {
  return [value >> 8, value & 0xff]
}

function latin1(bytes: readonly number[]): string {
  return String.fromCharCode(...bytes)
}

/**
 * Reads PROXY protocol headers, versions 1 and 2 (haproxy's doc/proxy-protocol.txt). Bytes in, verdict out;
 * TLVs are skipped.
 */
import { isIPv4, isIPv6 } from 'node:net'
import { limits } from '../../limits.ts'
import { addressBytes, ipv4Text, ipv6Text } from '../addresses/address-bytes.ts'
import type { Endpoints } from '../transport/transport.ts'

export type ProxyHeader =
  /** All bytes until now may be the start of one. */
  | { readonly kind: 'incomplete' }
  | { readonly kind: 'malformed' }
  /** `ends` undefined: the header speaks for the connection itself, or of something else than TCP over IP. */
  | { readonly kind: 'header'; readonly length: number; readonly ends: Endpoints | undefined }

const INCOMPLETE: ProxyHeader = { kind: 'incomplete' }
const MALFORMED: ProxyHeader = { kind: 'malformed' }

const PREFIX = Buffer.from('PROXY ')
const SIGNATURE = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1')
const FIXED_BYTES = 16
const VERSION_2 = 2
const Command = { LOCAL: 0, PROXY: 1 } as const
const Family = { INET: 1, INET6: 2, UNIX: 3 } as const
const Transport = { STREAM: 1, DATAGRAM: 2 } as const
const PORT_MAX = 65_535

export function readProxyHeader(bytes: Buffer): ProxyHeader {
  if (begins(bytes, PREFIX)) return readLine(bytes)
  if (begins(bytes, SIGNATURE)) return readBinary(bytes)
  return MALFORMED
}

/** Whether all that is there of `start` is the same. */
function begins(bytes: Buffer, start: Buffer): boolean {
  const length = Math.min(bytes.length, start.length)
  return bytes.compare(start, 0, length, 0, length) === 0
}

function readLine(bytes: Buffer): ProxyHeader {
  const within = bytes.subarray(0, limits.proxyLineBytesMax)
  const end = within.indexOf('\r\n')
  if (end === -1) return bytes.length < limits.proxyLineBytesMax ? INCOMPLETE : MALFORMED
  const length = end + 2
  const line = bytes.toString('latin1', PREFIX.length, end)
  if (line === 'UNKNOWN' || line.startsWith('UNKNOWN ')) {
    return { kind: 'header', length, ends: undefined }
  }
  const [protocol, source = '', destination = '', sourcePort, destinationPort, ...rest] =
    line.split(' ')
  const ends = {
    sourceAddress: addressOf(protocol, source),
    sourcePort: portOf(sourcePort),
    destinationAddress: addressOf(protocol, destination),
    destinationPort: portOf(destinationPort),
  }
  const isWhole =
    rest.length === 0 &&
    ends.sourceAddress !== '' &&
    ends.destinationAddress !== '' &&
    ends.sourcePort >= 0 &&
    ends.destinationPort >= 0
  return isWhole ? { kind: 'header', length, ends } : MALFORMED
}

/** '' for none of that family. */
function addressOf(protocol: string | undefined, text: string): string {
  if (protocol === 'TCP4') return isIPv4(text) ? text : ''
  const bytes = protocol === 'TCP6' && isIPv6(text) ? addressBytes(text) : undefined
  return bytes === undefined ? '' : ipv6Text(Uint8Array.from(bytes), 0)
}

/** -1: not a port in decimal without leading zeros. */
function portOf(text: string | undefined): number {
  if (text === undefined || !/^(0|[1-9]\d{0,4})$/.test(text) || Number(text) > PORT_MAX) return -1
  return Number(text)
}

function readBinary(bytes: Buffer): ProxyHeader {
  if (bytes.length < FIXED_BYTES) return INCOMPLETE
  const versionAndCommand = bytes.readUInt8(12)
  const family = bytes.readUInt8(13) >> 4
  const transport = bytes.readUInt8(13) & 0x0f
  const length = FIXED_BYTES + bytes.readUInt16BE(14)
  const command = versionAndCommand & 0x0f
  if (versionAndCommand >> 4 !== VERSION_2 || command > Command.PROXY) return MALFORMED
  if (family > Family.UNIX || transport > Transport.DATAGRAM) return MALFORMED
  if (length > limits.proxyHeaderBytesMax) return MALFORMED
  const isOverTcp = command === Command.PROXY && transport === Transport.STREAM
  const width = isOverTcp ? addressWidth(family) : 0
  if (length < FIXED_BYTES + (width === 0 ? 0 : 2 * width + 4)) return MALFORMED
  if (bytes.length < length) return INCOMPLETE
  return { kind: 'header', length, ends: width === 0 ? undefined : readEnds(bytes, width) }
}

/** Bytes of one address; 0: not of the Internet. */
function addressWidth(family: number): number {
  if (family === Family.INET) return 4
  return family === Family.INET6 ? 16 : 0
}

function readEnds(bytes: Buffer, width: number): Endpoints {
  const text = width === 4 ? ipv4Text : ipv6Text
  const portsAt = FIXED_BYTES + 2 * width
  return {
    sourceAddress: text(bytes, FIXED_BYTES),
    sourcePort: bytes.readUInt16BE(portsAt),
    destinationAddress: text(bytes, FIXED_BYTES + width),
    destinationPort: bytes.readUInt16BE(portsAt + 2),
  }
}

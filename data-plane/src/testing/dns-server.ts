/** A DNS server on a free UDP port of loopback whose answers the test decides. */
import { createSocket, type RemoteInfo, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { isIPv4 } from 'node:net'

export interface Zone {
  /** IPv4 and IPv6 addresses. */
  readonly addresses?: readonly string[]
  readonly ttlSeconds?: number
  /** Of answers about IPv4 and IPv6; 0 for none. */
  readonly errors?: { readonly ipv4?: number; readonly ipv6?: number }
  /** Queries are not answered at all. */
  readonly isSilent?: boolean
}

export const SERVFAIL = { errors: { ipv4: 2, ipv6: 2 } }
export const NXDOMAIN = { errors: { ipv4: 3, ipv6: 3 } }

const TYPE_A = 1
const TYPE_AAAA = 28
const HEADER_BYTES = 12

export class DnsServer {
  readonly zones = new Map<string, Zone>()
  queryCount = 0
  readonly #socket: Socket

  private constructor(socket: Socket) {
    this.#socket = socket
    socket.on('message', (message, from) => this.#answer(message, from))
  }

  static async start(): Promise<DnsServer> {
    const server = new DnsServer(createSocket('udp4'))
    server.#socket.bind(0, '127.0.0.1')
    await once(server.#socket, 'listening')
    return server
  }

  get address(): string {
    return `127.0.0.1:${this.#socket.address().port}`
  }

  stop(): void {
    this.#socket.close()
  }

  #answer(message: Buffer, from: RemoteInfo): void {
    this.queryCount += 1
    const { name, end, type } = readQuestion(message)
    const zone: Zone = this.zones.get(name) ?? NXDOMAIN
    if (zone.isSilent === true) return
    const isAboutIPv4 = type === TYPE_A
    const error = (isAboutIPv4 ? zone.errors?.ipv4 : zone.errors?.ipv6) ?? 0
    const addresses = (zone.addresses ?? []).filter((address) => isIPv4(address) === isAboutIPv4)
    const records = error === 0 ? addresses.map((address) => record(address, type, zone)) : []
    const header = Buffer.alloc(HEADER_BYTES)
    message.copy(header, 0, 0, 2)
    header.writeUInt16BE(0x8180 | error, 2)
    header.writeUInt16BE(1, 4)
    header.writeUInt16BE(records.length, 6)
    const answer = Buffer.concat([header, message.subarray(HEADER_BYTES, end), ...records])
    this.#socket.send(answer, from.port, from.address)
  }
}

function readQuestion(message: Buffer): { name: string; end: number; type: number } {
  const labels: string[] = []
  let at = HEADER_BYTES
  for (let length = message[at] ?? 0; length > 0; length = message[at] ?? 0) {
    labels.push(message.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
  const name = labels.join('.').toLowerCase()
  return { name, end: at + 5, type: message.readUInt16BE(at + 1) }
}

function record(address: string, type: number, { ttlSeconds = 1 }: Zone): Buffer {
  const data = type === TYPE_AAAA ? ipv6Bytes(address) : Buffer.from(address.split('.').map(Number))
  const fixed = Buffer.alloc(HEADER_BYTES)
  // A pointer to the question's name.
  fixed.writeUInt16BE(0xc00c, 0)
  fixed.writeUInt16BE(type, 2)
  fixed.writeUInt16BE(1, 4)
  fixed.writeUInt32BE(ttlSeconds, 6)
  fixed.writeUInt16BE(data.length, 10)
  return Buffer.concat([fixed, data])
}

function ipv6Bytes(address: string): Buffer {
  const [start = '', end = ''] = address.split('::')
  const head = start.split(':').filter((group) => group !== '')
  const tail = end.split(':').filter((group) => group !== '')
  const zeros = Array<string>(8 - head.length - tail.length).fill('0')
  const bytes = Buffer.alloc(16)
  for (const [index, group] of [...head, ...zeros, ...tail].entries()) {
    bytes.writeUInt16BE(Number.parseInt(group, 16), index * 2)
  }
  return bytes
}

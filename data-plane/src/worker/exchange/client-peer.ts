/** The peer of a client's connection, and what the running version makes of it. Hot. */
import type { BlockList } from 'node:net'
import { isInRanges, plainAddress } from '../addresses/peer-address.ts'
import { proxyHeader } from '../proxy-protocol/write-header.ts'
import type { Transport } from '../transport/transport.ts'
import type { EntryPoint, Routing } from './entry-point.ts'
import type { Peer } from './request.ts'

export class ClientPeer implements Peer {
  address = ''
  trustedPeers: BlockList | undefined
  readonly scheme: 'http' | 'https'
  #transport: Transport | undefined
  #judgedBy: Routing | undefined

  constructor(entryPoint: EntryPoint) {
    this.scheme = entryPoint.scheme
  }

  set(transport: Transport): void {
    this.#transport = transport
    this.address = plainAddress(transport.remoteAddress)
    this.#judgedBy = undefined
  }

  /** Looks whether it is trusted, once for each version. */
  judge(routing: Routing): void {
    if (routing === this.#judgedBy) return
    const { trustedPeers } = routing
    const isTrusted = trustedPeers !== undefined && isInRanges(trustedPeers, this.address)
    this.#judgedBy = routing
    this.trustedPeers = isTrusted ? trustedPeers : undefined
  }

  /** What a connection to a server begins with that is to know this client. */
  proxyHeader(version: 'v1' | 'v2'): string {
    return proxyHeader(version, this.#transport)
  }
}

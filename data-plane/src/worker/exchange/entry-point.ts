/** An entry point as its connections use it; a new version changes what is in it, never the object. */
import type { BlockList } from 'node:net'
import type { RouteTable } from '@sluice/matching'
import type { Route } from '../engine.ts'
import type { ClientConnection } from './client-connection.ts'

export interface EntryPoint {
  readonly name: string
  readonly scheme: 'http' | 'https'
  readonly connections: Set<ClientConnection>
  /** No version has it any more, or the node drains: connections end with their answer. */
  isClosing: boolean
  /** The certificate for clients that name no known server; '' for none. */
  defaultCertificate: string
  /** Swapped as one when a version is applied; an exchange keeps what it began with. */
  routing: Routing
}

export interface Routing {
  readonly table: RouteTable
  /** By the router numbers of the table. */
  readonly routes: readonly Route[]
  /** undefined: no peer is trusted. */
  readonly trustedPeers: BlockList | undefined
  /** Whose connections begin with a PROXY protocol header; undefined: nobody's. */
  readonly proxyProtocolPeers: BlockList | undefined
}

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
  routing: Routing
}

/** Another object where the peers have changed; the table is changed in place. */
export interface Routing {
  readonly table: RouteTable<Route>
  /** undefined: no peer is trusted. */
  readonly trustedPeers: BlockList | undefined
  /** Whose connections begin with a PROXY protocol header; undefined: nobody's. */
  readonly proxyProtocolPeers: BlockList | undefined
}

/** Every proxy that the benchmark knows, ours first; whether it is on this machine is for `find` to say. */
import { aralez } from './aralez.ts'
import { caddy, caddyPypi } from './caddy.ts'
import { envoy } from './envoy.ts'
import { haproxy } from './haproxy.ts'
import { nginx } from './nginx.ts'
import type { Found, Peer } from './peer.ts'
import { pingora } from './pingora.ts'
import { rpxy } from './rpxy.ts'
import { self, selfFleet } from './self.ts'
import { traefik } from './traefik.ts'

export const allPeers: readonly Peer[] = Object.freeze([
  self,
  selfFleet,
  nginx,
  haproxy,
  caddy,
  caddyPypi,
  envoy,
  traefik,
  pingora,
  aralez,
  rpxy,
])

export function peerNamed(name: string): Peer {
  const peer = allPeers.find((one) => one.name === name)
  if (peer === undefined) {
    const known = allPeers.map((one) => one.name).join(', ')
    throw new Error(`no proxy is called ${name}; there are ${known}`)
  }
  return peer
}

export interface PeerOnMachine {
  readonly peer: Peer
  readonly found: Found
}

export async function findPeers(peers: readonly Peer[] = allPeers): Promise<PeerOnMachine[]> {
  return Promise.all(peers.map(async (peer) => ({ peer, found: await peer.find() })))
}

/** Both ends of a connection, as its handle knows them. */
import type { StreamHandle } from './stream-internals.ts'
import type { Endpoints } from './transport.ts'

export function handleEndpoints(handle: StreamHandle): Endpoints {
  const source: { address?: string; port?: number } = {}
  const destination: { address?: string; port?: number } = {}
  handle.getpeername(source)
  handle.getsockname(destination)
  return {
    sourceAddress: source.address ?? '',
    sourcePort: source.port ?? 0,
    destinationAddress: destination.address ?? '',
    destinationPort: destination.port ?? 0,
  }
}

export function peerAddress(handle: StreamHandle): string {
  const peer: { address?: string } = {}
  handle.getpeername(peer)
  return peer.address ?? ''
}

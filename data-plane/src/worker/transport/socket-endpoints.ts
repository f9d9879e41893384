/** Both ends of a connection, as its socket knows them. */
import type { Socket } from 'node:net'
import type { Endpoints } from './transport.ts'

export function socketEndpoints(socket: Socket): Endpoints {
  const { remoteAddress, remotePort, localAddress, localPort } = socket
  return {
    sourceAddress: remoteAddress ?? '',
    sourcePort: remotePort ?? 0,
    destinationAddress: localAddress ?? '',
    destinationPort: localPort ?? 0,
  }
}

/** Connections whose ends are other than the kernel knows: a proxy in front has announced them. */
import { isIPv6 } from 'node:net'
import type { StreamHandle } from './stream-internals.ts'
import type { Endpoints } from './transport.ts'

/** Makes whatever asks the handle, or a socket over it, see these ends instead of the kernel's. */
export function announce(handle: StreamHandle, ends: Endpoints): void {
  const family = isIPv6(ends.sourceAddress) ? 'IPv6' : 'IPv4'
  handle.getpeername = (out) => {
    Object.assign(out, { address: ends.sourceAddress, port: ends.sourcePort, family })
    return 0
  }
  handle.getsockname = (out) => {
    Object.assign(out, { address: ends.destinationAddress, port: ends.destinationPort, family })
    return 0
  }
}

/**
 * Bound sockets that outlive workers. The supervisor binds and keeps a copy; workers get the handle by
 * message, call listen() on it and accept from it. While one copy is open the kernel goes on queueing
 * connections, so a worker can die or be replaced without a refused connection.
 *
 * All use of Node's internals is here: `net._createServerHandle` makes a handle that is bound but that this
 * process does not accept from (net.Server cannot do that), and the handle's own methods tell its address
 * and close it. The cluster module rests on the same calls.
 */
import type { SendHandle } from 'node:child_process'
import { lookup } from 'node:dns/promises'
import net from 'node:net'
import { getSystemErrorMap } from 'node:util'
import { type Address, formatAddress, parseAddress } from './address.ts'
import { reasonOf, StartFailure } from './errors.ts'
import { limits } from './limits.ts'

/** Node's TCP handle, as far as it is used here. Opaque to everyone else. */
export interface TcpHandle {
  getsockname(out: { address?: string; port?: number }): number
  close(): void
}

type CreateServerHandle = (
  address: string,
  port: number,
  addressType: 4 | 6,
  fd: undefined,
  flags: number,
) => TcpHandle | number

export interface ListeningSocket {
  readonly handle: TcpHandle
  /** As it was asked for. */
  readonly asked: string
  /** As it is bound. */
  readonly address: string
  close(): void
}

export type OpenOutcome =
  | { readonly kind: 'open'; readonly socket: ListeningSocket }
  | { readonly kind: 'failed'; readonly reason: string }

/** Node's types do not list raw handles among what a message may carry, but its IPC passes them. */
export function asSendHandle(handle: TcpHandle): SendHandle {
  return handle as unknown as SendHandle
}

/** Said at the start, since a runtime without these internals could never serve. */
export function assertRuntimeCanListen(): void {
  const version = `Node ${process.version}`
  let outcome: OpenOutcome
  try {
    outcome = bind({ host: '127.0.0.1', port: 0 }, '127.0.0.1:0', 4)
  } catch (error) {
    throw new StartFailure(`${version} has changed its TCP handles: ${reasonOf(error)}`)
  }
  if (outcome.kind === 'failed') {
    throw new StartFailure(`${version} cannot bind a socket: ${outcome.reason}`)
  }
  outcome.socket.close()
}

/** Binds the address. `:PORT` takes IPv6 and IPv4 on one socket, or IPv4 where there is no IPv6. */
export async function openListeningSocket(asked: string): Promise<OpenOutcome> {
  const address = parseAddress(asked)
  if (address === undefined) return failed(`"${asked}" is not HOST:PORT, [IPV6]:PORT or :PORT`)
  if (address.host === '') return bindAll(address.port, asked)
  if (net.isIP(address.host) !== 0) return bind(address, asked, net.isIPv6(address.host) ? 6 : 4)
  const resolved = await resolve(address.host)
  if (typeof resolved === 'string') return failed(resolved)
  return bind({ host: resolved.address, port: address.port }, asked, resolved.family === 6 ? 6 : 4)
}

function bindAll(port: number, asked: string): OpenOutcome {
  const both = bind({ host: '::', port }, asked, 6)
  if (both.kind === 'open' || !both.isWithoutIpv6) return both
  return bind({ host: '0.0.0.0', port }, asked, 4)
}

async function resolve(host: string): Promise<{ address: string; family: number } | string> {
  const { promise: late, resolve: giveUp } = Promise.withResolvers<string>()
  const timer = setTimeout(
    () => giveUp(`the name "${host}" was not resolved within ${limits.addressLookupTimeoutMs} ms`),
    limits.addressLookupTimeoutMs,
  )
  try {
    return await Promise.race([lookup(host), late])
  } catch (error) {
    return `the name "${host}" cannot be resolved: ${reasonOf(error)}`
  } finally {
    clearTimeout(timer)
  }
}

type BindOutcome =
  | { readonly kind: 'open'; readonly socket: ListeningSocket }
  | { readonly kind: 'failed'; readonly reason: string; readonly isWithoutIpv6: boolean }

function bind(address: Address, asked: string, type: 4 | 6): BindOutcome {
  const create = serverHandleFactory()
  if (create === undefined) return failed('net._createServerHandle is missing')
  const handle = create(address.host, address.port, type, undefined, 0)
  if (typeof handle === 'number') return failedBy(handle, address)
  // A taken port shows only now: libuv puts EADDRINUSE off until the address is asked for.
  const bound: { address?: string; port?: number } = {}
  const status = handle.getsockname(bound)
  if (status !== 0 || bound.address === undefined || bound.port === undefined) {
    handle.close()
    return failedBy(status, address)
  }
  const socket = {
    handle,
    asked,
    address: formatAddress(bound.address, bound.port),
    close: () => handle.close(),
  }
  return { kind: 'open', socket }
}

function serverHandleFactory(): CreateServerHandle | undefined {
  const found: unknown = Reflect.get(net, '_createServerHandle')
  // The only assertion on Node's own function: its shape is checked by what it returns.
  return typeof found === 'function' ? (found as CreateServerHandle) : undefined
}

const WORDS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'is already in use by another process',
  EACCES: 'may not be opened by this user',
  EADDRNOTAVAIL: 'is not an address of this machine',
  EAFNOSUPPORT: 'has a family that this machine does not support',
}

function failedBy(status: number, address: Address): BindOutcome {
  const [code, message] = getSystemErrorMap().get(status) ?? [String(status), 'unknown error']
  const what = formatAddress(address.host, address.port)
  const words = WORDS[code] ?? message
  return {
    kind: 'failed',
    reason: `${what} ${words} (${code})`,
    isWithoutIpv6: code === 'EAFNOSUPPORT' || code === 'EADDRNOTAVAIL' || code === 'EINVAL',
  }
}

function failed(reason: string): BindOutcome {
  return { kind: 'failed', reason, isWithoutIpv6: false }
}

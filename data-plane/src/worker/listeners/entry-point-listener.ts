/**
 * Accepts the connections of one entry point from copies of a listening handle that belongs to the supervisor:
 * closing them here leaves the kernel's queue alone.
 */
import { Socket } from 'node:net'
import { limits } from '../../limits.ts'
import { isInRanges, plainAddress } from '../addresses/peer-address.ts'
import type { Engine } from '../engine.ts'
import { ClientConnection } from '../exchange/client-connection.ts'
import type { EntryPoint } from '../exchange/entry-point.ts'
import { announce } from '../transport/announced-ends.ts'
import { peerAddress as handlePeer } from '../transport/handle-endpoints.ts'
import type { LargeWriters } from '../transport/large-writers.ts'
import { SocketTransport } from '../transport/socket-transport.ts'
import { type StreamHandle, streamInternals } from '../transport/stream-internals.ts'
import { TcpTransport } from '../transport/tcp-transport.ts'
import type { Transport, TransportListener } from '../transport/transport.ts'
import type { Admission } from './admission.ts'
import { ProxyHeaderReader } from './proxy-header-reader.ts'
import type { TicketKeys } from './ticket-keys.ts'
import type { TlsContexts } from './tls-contexts.ts'
import { TlsEntrance } from './tls-entrance.ts'

/** As others ask for; the kernel cuts it to net.core.somaxconn. */
const BACKLOG = 4_096
const NOTHING = Buffer.alloc(0)
/** In place of what to call at the end: the client has too many connections. */
const REFUSED = (): void => {}

/** What of the worker its listeners need. */
export interface ListenerParts {
  readonly engine: Engine
  readonly admission: Admission
  readonly contexts: TlsContexts
  readonly ticketKeys: TicketKeys
  readonly largeWriters: LargeWriters
}

export class EntryPointListener {
  readonly entryPoint: EntryPoint
  readonly #engine: Engine
  readonly #admission: Admission
  readonly #handles: StreamHandle[] = []
  readonly #tls: TlsEntrance | undefined
  #isDrained = false

  constructor(parts: ListenerParts, entryPoint: EntryPoint) {
    const { engine, admission, contexts, ticketKeys, largeWriters } = parts
    this.#engine = engine
    this.#admission = admission
    this.entryPoint = entryPoint
    if (entryPoint.scheme !== 'https') return
    const entrance = {
      contexts,
      ticketKeys,
      largeWriters,
      deadlines: engine.deadlines,
      onSecure: (open: (listener: TransportListener) => Transport) => this.#begin(open),
      onFailed: () => {
        engine.gauges.connectionsClosed += 1
      },
    }
    this.#tls = new TlsEntrance(entrance, entryPoint)
  }

  /** Starts to accept from this copy of the handle. Throws when it cannot listen. */
  open(handle: StreamHandle): void {
    if (this.#isDrained) {
      handle.close()
      return
    }
    handle.onconnection = (error, client) => {
      if (error === 0 && client !== undefined) this.#accept(client)
    }
    // Accepted sockets have it from the listening one, so it costs nothing for each of them.
    handle.setKeepAlive(true, limits.tcpKeepAliveMs / 1_000)
    const error = handle.listen(BACKLOG)
    if (error !== 0) throw new Error(`${this.entryPoint.name}: cannot listen (${error})`)
    this.#handles.push(handle)
  }

  /** Stops to accept, ends idle connections, and lets the others finish their exchange. */
  drain(): void {
    this.#isDrained = true
    for (const handle of this.#handles.splice(0)) handle.close()
    this.#tls?.close()
    for (const connection of this.entryPoint.connections) connection.drain()
  }

  #accept(handle: StreamHandle): void {
    const { proxyProtocolPeers } = this.entryPoint.routing
    const gauges = this.#engine.gauges
    const hasRoom = this.#admission.hasRoom
    if (hasRoom && proxyProtocolPeers && isInRanges(proxyProtocolPeers, peerAddress(handle))) {
      gauges.connectionsAccepted += 1
      this.#awaitProxyHeader(handle)
      return
    }
    const leave = hasRoom ? this.#enter(handle) : REFUSED
    if (leave === REFUSED) {
      gauges.connectionsShed += 1
      handle.close()
      return
    }
    gauges.connectionsAccepted += 1
    if (this.#tls !== undefined) {
      if (this.#tls.takesHandles) this.#tls.takeHandle(handle, NOTHING, leave)
      else this.#tls.takeSocket(socketOf(handle, leave), NOTHING)
    } else if (streamInternals === undefined) {
      this.#begin((connection) => new SocketTransport(socketOf(handle, leave), connection))
    } else {
      this.#begin((connection) => new TcpTransport(handle, connection, leave))
    }
  }

  /** Counts the client's connection, if that is bounded; what to call when it is closed. */
  #enter(handle: StreamHandle, isProxied = false): (() => void) | undefined {
    const client = this.#admission.isClientBounded ? peerAddress(handle) : ''
    if (client === '') return undefined
    const { trustedPeers } = this.entryPoint.routing
    const isTrusted = isProxied || (trustedPeers !== undefined && isInRanges(trustedPeers, client))
    if (!this.#admission.enter(client, isTrusted)) return REFUSED
    return () => this.#admission.leave(client)
  }

  #awaitProxyHeader(handle: StreamHandle): void {
    const gauges = this.#engine.gauges
    new ProxyHeaderReader(socketOf(handle, undefined), this.#engine.deadlines, {
      onHeader: (socket, ends, rest) => {
        if (ends !== undefined) announce(handle, ends)
        const leave = this.#enter(handle, ends === undefined)
        if (leave === REFUSED) {
          gauges.connectionsShed += 1
          gauges.connectionsClosed += 1
          socket.destroy()
          return
        }
        this.#goOn(handle, socket, rest, leave)
      },
      onNoHeader: (isRefused) => {
        gauges.connectionsClosed += 1
        if (isRefused) gauges.proxyHeadersRefused += 1
      },
    })
  }

  /** After the PROXY protocol header: with TLS or HTTP, whose first bytes may be in `rest`. */
  #goOn(handle: StreamHandle, socket: Socket, rest: Buffer, leave: (() => void) | undefined): void {
    if (this.#tls === undefined ? streamInternals !== undefined : this.#tls.takesHandles) {
      // Its next owner starts to read anew, and to start twice is an error.
      handle.readStop()
      if (this.#tls !== undefined) this.#tls.takeHandle(handle, rest, leave)
      else this.#begin((connection) => new TcpTransport(handle, connection, leave), rest)
      return
    }
    if (leave !== undefined) socket.once('close', leave)
    if (this.#tls !== undefined) {
      this.#tls.takeSocket(socket, rest)
      return
    }
    this.#begin((connection) => new SocketTransport(socket, connection), rest)
  }

  #begin(open: (connection: TransportListener) => Transport, early: Buffer = NOTHING): void {
    const connection = new ClientConnection(this.#engine, this.entryPoint)
    const transport = open(connection)
    this.entryPoint.connections.add(connection)
    connection.attach(transport)
    transport.start()
    if (early.length > 0) connection.onBytes(early, early.length)
  }
}

/** `onClosed`: called once. */
function socketOf(handle: StreamHandle, onClosed: (() => void) | undefined): Socket {
  const options = { handle, allowHalfOpen: true }
  const socket: Socket = Reflect.construct(Socket, [options])
  socket.on('error', () => socket.destroy())
  if (onClosed !== undefined) socket.once('close', onClosed)
  return socket
}

function peerAddress(handle: StreamHandle): string {
  return plainAddress(handlePeer(handle))
}

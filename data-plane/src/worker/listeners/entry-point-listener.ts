/**
 * Accepts the connections of one entry point from a listening handle that belongs to the supervisor: closing
 * it here leaves the kernel's queue alone.
 */
import { Socket } from 'node:net'
import {
  createServer as createTlsServer,
  type SecureContextOptions,
  TLSSocket,
  type TlsOptions,
  type Server as TlsServer,
} from 'node:tls'
import type { Certificate } from '@sluice/proto'
import { limits } from '../../limits.ts'
import { isInRanges, plainAddress } from '../addresses/peer-address.ts'
import type { Engine } from '../engine.ts'
import { ClientConnection } from '../exchange/client-connection.ts'
import type { EntryPoint } from '../exchange/entry-point.ts'
import { announce } from '../transport/announced-ends.ts'
import { SocketTransport } from '../transport/socket-transport.ts'
import { type StreamHandle, streamInternals } from '../transport/stream-internals.ts'
import { TcpTransport } from '../transport/tcp-transport.ts'
import { TlsTransport } from '../transport/tls-transport.ts'
import type { Transport } from '../transport/transport.ts'
import type { Admission } from './admission.ts'
import { ProxyHeaderReader } from './proxy-header-reader.ts'
import type { TicketKeys } from './ticket-keys.ts'
import { sendUnrecognizedName } from './tls-alert.ts'
import { isSameCertificate, type TlsContexts, UnknownServerName } from './tls-contexts.ts'

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
}

export class EntryPointListener {
  readonly entryPoint: EntryPoint
  readonly #engine: Engine
  readonly #admission: Admission
  readonly #handle: StreamHandle
  readonly #tlsServer: TlsServer | undefined
  #isClosed = false
  #defaultCertificate: Certificate | undefined
  #stopFollowing: () => void = () => {}

  constructor(parts: ListenerParts, entryPoint: EntryPoint, handle: StreamHandle) {
    const { engine, admission, contexts, ticketKeys } = parts
    this.#engine = engine
    this.#admission = admission
    this.entryPoint = entryPoint
    this.#handle = handle
    this.#tlsServer =
      entryPoint.scheme === 'https' ? this.#makeTlsServer(contexts, ticketKeys) : undefined
  }

  /** Starts to accept. Throws when the handle cannot listen. */
  open(): void {
    this.#handle.onconnection = (error, client) => {
      if (error === 0 && client !== undefined) this.#accept(client)
    }
    // Accepted sockets have it from the listening one, so it costs nothing for each of them.
    this.#handle.setKeepAlive(true, limits.tcpKeepAliveMs / 1_000)
    const error = this.#handle.listen(BACKLOG)
    if (error !== 0) throw new Error(`${this.entryPoint.name}: cannot listen (${error})`)
  }

  /** Stops to accept, ends idle connections, and lets the others finish their exchange. */
  drain(): void {
    if (!this.#isClosed) this.#handle.close()
    this.#isClosed = true
    this.#stopFollowing()
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
    if (this.#tlsServer !== undefined) {
      this.#shake(this.#tlsServer, socketOf(handle, leave))
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
    if (this.#tlsServer === undefined && streamInternals !== undefined) {
      // The transport starts to read anew, and to start twice is an error.
      handle.readStop()
      this.#begin((connection) => new TcpTransport(handle, connection, leave), rest)
      return
    }
    if (leave !== undefined) socket.once('close', leave)
    if (this.#tlsServer === undefined) {
      this.#begin((connection) => new SocketTransport(socket, connection), rest)
      socket.resume()
      return
    }
    if (rest.length > 0) socket.unshift(rest)
    this.#shake(this.#tlsServer, socket)
  }

  #begin(open: (connection: ClientConnection) => Transport, early: Buffer = NOTHING): void {
    const connection = new ClientConnection(this.#engine, this.entryPoint)
    const transport = open(connection)
    this.entryPoint.connections.add(connection)
    connection.attach(transport)
    transport.start()
    if (early.length > 0) connection.onBytes(early, early.length)
  }

  #shake(server: TlsServer, socket: Socket): void {
    socket.setNoDelay(true)
    // A client that leaves in the middle of its handshake is gone; half-closes count after it.
    socket.allowHalfOpen = false
    server.emit('connection', socket)
  }

  /** Node calls it on the TLS socket. */
  #serverNameCallback(contexts: TlsContexts): NonNullable<TlsOptions['SNICallback']> {
    const entryPoint = this.entryPoint
    return function (this: unknown, serverName, done) {
      const context = contexts.choose(serverName, entryPoint)
      if (context === undefined && this instanceof TLSSocket) sendUnrecognizedName(this)
      done(context === undefined ? new UnknownServerName() : null, context)
    }
  }

  #makeTlsServer(contexts: TlsContexts, ticketKeys: TicketKeys): TlsServer {
    const certificate = contexts.table.byName.get(this.entryPoint.defaultCertificate)
    this.#defaultCertificate = certificate
    const server = createTlsServer({
      ...contextOptions(certificate),
      ALPNProtocols: ['http/1.1'],
      handshakeTimeout: limits.handshakeTimeoutMs,
      SNICallback: this.#serverNameCallback(contexts),
    })
    ticketKeys.use(server)
    server.on('secureConnection', (socket: TLSSocket) => {
      socket.allowHalfOpen = true
      this.#begin((connection) => tlsTransport(socket, connection))
    })
    // A client that cannot shake hands is its own affair: the socket is closed and others go on.
    server.on('tlsClientError', (_error, socket) => {
      this.#engine.gauges.connectionsClosed += 1
      socket.destroy()
    })
    this.#stopFollowing = contexts.onChange((table) => {
      const certificate = table.byName.get(this.entryPoint.defaultCertificate)
      if (isSameCertificate(certificate, this.#defaultCertificate)) return
      this.#defaultCertificate = certificate
      server.setSecureContext(contextOptions(certificate))
      ticketKeys.use(server)
    })
    return server
  }
}

function tlsTransport(socket: TLSSocket, connection: ClientConnection): Transport {
  const handle: StreamHandle | undefined = Reflect.get(socket, '_handle')
  if (streamInternals === undefined || handle === undefined) {
    return new SocketTransport(socket, connection)
  }
  return new TlsTransport(socket, handle, streamInternals, connection)
}

/** Without a default certificate, a client that names no server finds no cipher to agree on. */
function contextOptions(certificate: Certificate | undefined): SecureContextOptions {
  if (certificate === undefined) return {}
  return { cert: certificate.chainPem, key: certificate.privateKeyPem }
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
  const peer: { address?: string } = {}
  handle.getpeername(peer)
  return plainAddress(peer.address ?? '')
}

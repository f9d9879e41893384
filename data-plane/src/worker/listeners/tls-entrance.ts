/**
 * What makes an entry point speak TLS: its default certificate, which context a server name gets, and the
 * handshake of each connection. Handshakes run on handles (tls-handshake.ts), or on a tls.Server where Node's
 * internals are other than expected.
 */
import { constants } from 'node:crypto'
import type { Socket } from 'node:net'
import {
  createServer,
  type SecureContext,
  type SecureContextOptions,
  type Server,
  TLSSocket,
  type TlsOptions,
} from 'node:tls'
import type { Certificate } from '@sluice/proto'
import { limits } from '../../limits.ts'
import type { DeadlineSweep } from '../deadline-sweep.ts'
import type { EntryPoint } from '../exchange/entry-point.ts'
import type { LargeWriters } from '../transport/large-writers.ts'
import { SocketTransport } from '../transport/socket-transport.ts'
import type { StreamHandle } from '../transport/stream-internals.ts'
import { nativeContext, type TlsHandle, wrapTls } from '../transport/tls-internals.ts'
import { TlsTransport } from '../transport/tls-transport.ts'
import type { Transport, TransportListener } from '../transport/transport.ts'
import type { TicketKeys } from './ticket-keys.ts'
import { sendUnrecognizedName } from './tls-alert.ts'
import { isSameCertificate, type TlsContexts, UnknownServerName } from './tls-contexts.ts'
import { type HandshakeParts, TlsHandshake } from './tls-handshake.ts'

export interface TlsEntranceParts {
  readonly contexts: TlsContexts
  readonly ticketKeys: TicketKeys
  readonly deadlines: DeadlineSweep
  readonly largeWriters: LargeWriters
  /** A handshake is done; the transport is to be started. */
  onSecure(open: (listener: TransportListener) => Transport): void
  /** A connection was closed before that. */
  onFailed(): void
}

export class TlsEntrance {
  readonly #parts: TlsEntranceParts
  readonly #server: Server
  readonly #handshakeParts: HandshakeParts
  readonly #stopFollowing: () => void
  #defaultCertificate: Certificate | undefined

  constructor(parts: TlsEntranceParts, entryPoint: EntryPoint) {
    const { contexts, ticketKeys, deadlines } = parts
    this.#parts = parts
    this.#defaultCertificate = contexts.table.byName.get(entryPoint.defaultCertificate)
    this.#server = this.#makeServer(entryPoint)
    ticketKeys.use(this.#server)
    this.#handshakeParts = {
      deadlines,
      context: () => this.#context,
      contextFor: (serverName) => {
        const context = contexts.choose(serverName, entryPoint)
        return context === undefined ? undefined : nativeContext(context)
      },
    }
    this.#stopFollowing = contexts.onChange((table) => {
      const certificate = table.byName.get(entryPoint.defaultCertificate)
      if (isSameCertificate(certificate, this.#defaultCertificate)) return
      this.#defaultCertificate = certificate
      this.#server.setSecureContext(contextOptions(certificate))
      ticketKeys.use(this.#server)
    })
  }

  /** Whether connections can be taken as handles. */
  get takesHandles(): boolean {
    return wrapTls !== undefined && this.#context !== undefined
  }

  /** `early`: bytes that were read already. `onReleased`: called when the connection is closed. */
  takeHandle(handle: StreamHandle, early: Buffer, onReleased: (() => void) | undefined): void {
    const listener = {
      onSecure: (tls: TlsHandle) => {
        const { largeWriters } = this.#parts
        const parts = { handle, tls, largeWriters, onReleased }
        this.#parts.onSecure((connection) => new TlsTransport(parts, connection))
      },
      onFailed: () => this.#parts.onFailed(),
    }
    new TlsHandshake(handle, this.#handshakeParts, listener, onReleased).start(early)
  }

  takeSocket(socket: Socket, early: Buffer): void {
    if (early.length > 0) socket.unshift(early)
    socket.setNoDelay(true)
    // A client that leaves in the middle of its handshake is gone; half-closes count after it.
    socket.allowHalfOpen = false
    this.#server.emit('connection', socket)
  }

  /** No new connection comes; those that are there go on. */
  close(): void {
    this.#stopFollowing()
  }

  get #context(): object | undefined {
    const context: SecureContext | undefined = Reflect.get(this.#server, '_sharedCreds')
    return context === undefined ? undefined : nativeContext(context)
  }

  #makeServer(entryPoint: EntryPoint): Server {
    const server = createServer({
      ...contextOptions(this.#defaultCertificate),
      ALPNProtocols: ['http/1.1'],
      handshakeTimeout: limits.handshakeTimeoutMs,
      SNICallback: serverNameCallback(this.#parts.contexts, entryPoint),
    })
    server.on('secureConnection', (socket: TLSSocket) => {
      socket.allowHalfOpen = true
      this.#parts.onSecure((connection) => new SocketTransport(socket, connection))
    })
    // A client that cannot shake hands is its own affair: the socket is closed and others go on.
    server.on('tlsClientError', (_error, socket) => {
      this.#parts.onFailed()
      socket.destroy()
    })
    return server
  }
}

/** Node calls it on the TLS socket. */
function serverNameCallback(
  contexts: TlsContexts,
  entryPoint: EntryPoint,
): NonNullable<TlsOptions['SNICallback']> {
  return function (this: unknown, serverName, done) {
    const context = contexts.choose(serverName, entryPoint)
    if (context === undefined && this instanceof TLSSocket) {
      sendUnrecognizedName(Reflect.get(this, '_parent')?._handle)
    }
    done(context === undefined ? new UnknownServerName() : null, context)
  }
}

/** Without a default certificate, a client that names no server finds no cipher to agree on. */
function contextOptions(certificate: Certificate | undefined): SecureContextOptions {
  // A client could keep a worker busy with handshakes on one connection.
  const secureOptions = constants.SSL_OP_NO_RENEGOTIATION
  if (certificate === undefined) return { secureOptions }
  return { cert: certificate.chainPem, key: certificate.privateKeyPem, secureOptions }
}

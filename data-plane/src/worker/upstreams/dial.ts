/**
 * One attempt to connect to a server: to its address, and where that takes long or fails, in a race with its
 * address of the other family (RFC 8305). Ends in exactly one call of its listener, or in none after cancel.
 */
import { connect, isIPv6, type Socket } from 'node:net'
import { limits } from '../../limits.ts'
import { SocketTransport } from '../transport/socket-transport.ts'
import { type StreamHandle, streamInternals } from '../transport/stream-internals.ts'
import { TcpTransport } from '../transport/tcp-transport.ts'
import { UpstreamConnection } from './upstream-connection.ts'
import type { UpstreamContext, UpstreamServer } from './upstream-server.ts'

/** Why a dial did not give a connection. 'exhausted': this process or machine has nothing left to dial with. */
export type DialFailure = 'refused' | 'timeout' | 'exhausted'

/** No fault of the server, and the next one would meet it too. */
const EXHAUSTION = new Set(['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM'])

export interface DialListener {
  onConnected(connection: UpstreamConnection): void
  onDialFailed(failure: DialFailure): void
}

export class Dial {
  readonly #server: UpstreamServer
  readonly #context: UpstreamContext
  readonly #listener: DialListener
  readonly #timer: NodeJS.Timeout
  readonly #sockets = new Set<Socket>()
  #raceTimer: NodeJS.Timeout | undefined
  #isOver = false

  constructor(server: UpstreamServer, context: UpstreamContext, listener: DialListener) {
    const { host, alternative, connectMs } = server.settings
    this.#server = server
    this.#context = context
    this.#listener = listener
    this.#timer = setTimeout(() => this.#fail('timeout'), connectMs)
    if (alternative !== '') {
      this.#raceTimer = setTimeout(() => this.#tryAlternative(), limits.familyRaceMs)
    }
    this.#try(host)
  }

  cancel(): void {
    if (this.#isOver) return
    this.#abandon()
    this.#server.admitWaiting()
  }

  #try(host: string): void {
    const socket = connect({
      host,
      port: this.#server.settings.port,
      allowHalfOpen: true,
      noDelay: true,
      keepAlive: true,
      keepAliveInitialDelay: limits.tcpKeepAliveMs,
    })
    // A paused socket does not start to read by itself when it is connected.
    socket.pause()
    this.#sockets.add(socket)
    socket.once('error', (error: NodeJS.ErrnoException) => this.#lose(socket, error.code ?? ''))
    socket.once('connect', () => this.#win(socket, host))
  }

  #tryAlternative(): void {
    clearTimeout(this.#raceTimer)
    this.#raceTimer = undefined
    this.#try(this.#server.settings.alternative)
  }

  #win(socket: Socket, host: string): void {
    if (this.#isOver) return
    this.#sockets.delete(socket)
    this.#finish()
    this.#listener.onConnected(adopt(socket, this.#server, this.#context))
    const { alternative, name } = this.#server.settings
    if (host === alternative) name?.prefer(isIPv6(host) ? 6 : 4)
  }

  #lose(socket: Socket, code: string): void {
    this.#sockets.delete(socket)
    if (this.#isOver) return
    if (EXHAUSTION.has(code)) this.#fail('exhausted')
    else if (this.#raceTimer !== undefined) this.#tryAlternative()
    else if (this.#sockets.size === 0) this.#fail('refused')
  }

  /** The exchange goes on first, so that it is not behind one that came later. */
  #fail(failure: DialFailure): void {
    if (this.#isOver) return
    this.#abandon()
    this.#listener.onDialFailed(failure)
    this.#server.admitWaiting()
  }

  #abandon(): void {
    this.#finish()
    this.#server.release()
  }

  #finish(): void {
    this.#isOver = true
    clearTimeout(this.#timer)
    clearTimeout(this.#raceTimer)
    for (const socket of this.#sockets) socket.destroy()
    this.#sockets.clear()
  }
}

/** Goes on with a connected socket's handle, below the socket where that is possible. */
function adopt(
  socket: Socket,
  server: UpstreamServer,
  context: UpstreamContext,
): UpstreamConnection {
  const connection = new UpstreamConnection(server, context)
  const handle: StreamHandle | undefined = Reflect.get(socket, '_handle')
  const transport =
    streamInternals === undefined || handle === undefined
      ? new SocketTransport(socket, connection)
      : new TcpTransport(handle, connection)
  connection.attach(transport)
  transport.start()
  return connection
}

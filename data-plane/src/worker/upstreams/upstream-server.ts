/**
 * One server of a service as a worker uses it: dials it and keeps its idle connections, newest first, since
 * the one used last is the least likely to have been closed by the server. Survives versions that keep it.
 */
import { connect, type Socket } from 'node:net'
import type { ProxyHeaderVersion } from '../../configuration/services.ts'
import type { DeadlineSweep } from '../deadline-sweep.ts'
import type { HeadParser } from '../http1/head-parser.ts'
import type { OutputBuffer } from '../http1/output-buffer.ts'
import type { Gauges } from '../observe/gauges.ts'
import { SocketTransport } from '../transport/socket-transport.ts'
import { type StreamHandle, streamInternals } from '../transport/stream-internals.ts'
import { TcpTransport } from '../transport/tcp-transport.ts'
import { UpstreamConnection } from './upstream-connection.ts'

export interface ServerSettings {
  /** A name or an address, without brackets. */
  readonly host: string
  readonly port: number
  /** HOST:PORT as it stands in a Host field. */
  readonly authority: string
  readonly connectMs: number
  readonly firstByteMs: number
  readonly idleMs: number
  readonly idleConnectionsMax: number
  /** What each connection begins with. */
  readonly proxyProtocol: ProxyHeaderVersion
}

/** What of the worker its server connections need. */
export interface UpstreamContext {
  readonly output: OutputBuffer
  readonly answerHead: HeadParser
  readonly deadlines: DeadlineSweep
  readonly gauges: Gauges
}

/** Why a dial did not give a connection. 'exhausted': this process or machine has nothing left to dial with. */
export type DialFailure = 'refused' | 'timeout' | 'exhausted'

/** No fault of the server, and the next one would meet it too. */
const EXHAUSTION = new Set(['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM'])

export interface DialListener {
  onConnected(connection: UpstreamConnection): void
  onDialFailed(failure: DialFailure): void
}

export class UpstreamServer {
  settings: ServerSettings
  readonly #context: UpstreamContext
  readonly #idle: UpstreamConnection[] = []
  #isRetired = false

  constructor(context: UpstreamContext, settings: ServerSettings) {
    this.#context = context
    this.settings = settings
  }

  /** The idle connection that was used last, or undefined. */
  checkOut(): UpstreamConnection | undefined {
    const connection = this.#idle.pop()
    if (connection !== undefined) this.#context.gauges.upstreamConnectionsIdle -= 1
    return connection
  }

  /** Keeps a connection on which both messages ended cleanly, or closes it. */
  giveBack(connection: UpstreamConnection): void {
    if (this.#isRetired || this.#idle.length >= this.settings.idleConnectionsMax) {
      connection.destroy()
      return
    }
    this.#idle.push(connection)
    this.#context.gauges.upstreamConnectionsIdle += 1
  }

  /** An idle connection ended. */
  forget(connection: UpstreamConnection): void {
    const index = this.#idle.indexOf(connection)
    if (index === -1) return
    this.#idle.splice(index, 1)
    this.#context.gauges.upstreamConnectionsIdle -= 1
  }

  /** No version has this server any more: idle connections end now, the others with their exchange. */
  retire(): void {
    this.#isRetired = true
    for (let connection = this.checkOut(); connection !== undefined; connection = this.checkOut()) {
      connection.destroy()
    }
  }

  dial(listener: DialListener): Dial {
    return new Dial(this, this.#context, listener)
  }
}

/** One attempt to connect; ends in exactly one call of its listener, or in none after cancel. */
export class Dial {
  readonly #socket: Socket
  readonly #timer: NodeJS.Timeout
  readonly #listener: DialListener
  #isOver = false

  constructor(server: UpstreamServer, context: UpstreamContext, listener: DialListener) {
    const { host, port, connectMs } = server.settings
    this.#listener = listener
    this.#socket = connect({ host, port, allowHalfOpen: true, noDelay: true })
    // A paused socket does not start to read by itself when it is connected.
    this.#socket.pause()
    this.#timer = setTimeout(() => this.#fail('timeout'), connectMs)
    this.#socket.once('error', (error: NodeJS.ErrnoException) => {
      this.#fail(EXHAUSTION.has(error.code ?? '') ? 'exhausted' : 'refused')
    })
    this.#socket.once('connect', () => {
      if (this.#isOver) return
      this.#finish()
      listener.onConnected(adopt(this.#socket, server, context))
    })
  }

  cancel(): void {
    if (this.#isOver) return
    this.#finish()
    this.#socket.destroy()
  }

  #fail(failure: DialFailure): void {
    if (this.#isOver) return
    this.cancel()
    this.#listener.onDialFailed(failure)
  }

  #finish(): void {
    this.#isOver = true
    clearTimeout(this.#timer)
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

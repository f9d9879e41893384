/** Dials with net.Socket and goes on with the connected socket's handle where that is possible. */
import { connect, type Socket } from 'node:net'
import { limits } from '../../limits.ts'
import type { Dialler, DialOutcome, PendingDial } from './dialler.ts'
import { SocketTransport } from './socket-transport.ts'
import { type StreamHandle, streamInternals } from './stream-internals.ts'
import { TcpTransport } from './tcp-transport.ts'
import type { Transport, TransportListener } from './transport.ts'

export class NetDialler implements Dialler {
  dial(host: string, port: number, outcome: DialOutcome): PendingDial {
    return new NetDial(host, port, outcome)
  }
}

class NetDial implements PendingDial {
  readonly #socket: Socket
  #isOver = false

  constructor(host: string, port: number, outcome: DialOutcome) {
    this.#socket = connect({
      host,
      port,
      allowHalfOpen: true,
      noDelay: true,
      keepAlive: true,
      keepAliveInitialDelay: limits.tcpKeepAliveMs,
    })
    // A paused socket does not start to read by itself when it is connected.
    this.#socket.pause()
    this.#socket.once('error', (error: NodeJS.ErrnoException) => {
      if (this.#isOver) return
      this.#isOver = true
      outcome.onRefused(error.code ?? '')
    })
    this.#socket.once('connect', () => {
      if (this.#isOver) return
      this.#isOver = true
      outcome.onConnected()
    })
  }

  adopt(listener: TransportListener): Transport {
    const handle: StreamHandle | undefined = Reflect.get(this.#socket, '_handle')
    return streamInternals === undefined || handle === undefined
      ? new SocketTransport(this.#socket, listener)
      : new TcpTransport(handle, listener)
  }

  cancel(): void {
    this.#isOver = true
    this.#socket.destroy()
  }
}

/** A connection over a net.Socket or tls.TLSSocket: the way where handles cannot be used. */
import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { limits } from '../../limits.ts'
import { socketEndpoints } from './socket-endpoints.ts'
import { type Endpoints, type Transport, type TransportListener, WriteResult } from './transport.ts'

export class SocketTransport implements Transport {
  readonly remoteAddress: string
  readonly #socket: Socket
  #listener: TransportListener
  /** An idle TLS socket encrypts at once and lets go of the bytes; a TCP socket may keep them. */
  readonly #takesCopies: boolean
  #code = ''
  #isClosed = false

  constructor(socket: Socket, listener: TransportListener) {
    this.#socket = socket
    this.#listener = listener
    this.#takesCopies = !(socket instanceof TLSSocket)
    this.remoteAddress = socket.remoteAddress ?? ''
    socket.on('error', (error: NodeJS.ErrnoException) => {
      this.#code = error.code ?? 'ERROR'
    })
    socket.on('end', () => {
      if (!this.#isClosed) this.#listener.onEnd()
    })
    socket.on('drain', () => {
      if (!this.#isClosed) this.#listener.onWritable()
    })
    // After its end a socket announces no drain, only that all is gone.
    socket.on('finish', () => {
      if (!this.#isClosed) this.#listener.onWritable()
    })
    socket.on('close', () => {
      if (this.#isClosed) return
      this.#isClosed = true
      this.#listener.onClosed(this.#code)
    })
  }

  endpoints(): Endpoints {
    return socketEndpoints(this.#socket)
  }

  listenWith(listener: TransportListener): void {
    this.#listener = listener
  }

  start(): void {
    this.#socket.on('data', (bytes: Buffer) => {
      if (!this.#isClosed) this.#listener.onBytes(bytes, bytes.length)
    })
    // One that was paused before does not begin by itself.
    this.#socket.resume()
  }

  write(bytes: Buffer, length: number): number {
    const socket = this.#socket
    if (this.#isClosed || !socket.writable) return WriteResult.DONE
    const view = bytes.subarray(0, length)
    const mustCopy = this.#takesCopies || socket.writableLength > 0
    socket.write(mustCopy ? Buffer.from(view) : view)
    const isBehind = socket.writableNeedDrain && socket.writableLength >= limits.tlsPendingBytesMax
    return isBehind ? WriteResult.BEHIND : WriteResult.DONE
  }

  pause(): void {
    this.#socket.pause()
  }

  resume(): void {
    if (!this.#isClosed) this.#socket.resume()
  }

  end(): boolean {
    const isGone = this.#isGone
    this.#socket.end()
    return isGone
  }

  finish(): boolean {
    const isGone = this.#isGone
    this.#socket.end(() => this.#socket.destroy())
    return isGone
  }

  destroy(): void {
    this.#isClosed = true
    this.#socket.destroy()
  }

  reset(): void {
    this.#isClosed = true
    // Node resets TCP sockets only; in TLS an end without close_notify says the same.
    if (this.#socket instanceof TLSSocket) this.#socket.destroy()
    else this.#socket.resetAndDestroy()
  }

  get #isGone(): boolean {
    return this.#isClosed || this.#socket.writableLength === 0
  }
}

/**
 * A TLS connection through the handle of its TLSSocket, whose stream machinery is passed by: decrypted bytes
 * go into the worker's shared read buffer, and a write is encrypted at once. The socket stays the owner, for
 * the handshake before this, for errors, and for closing. Hot.
 */
import type { TLSSocket } from 'node:tls'
import { getSystemErrorName } from 'node:util'
import { limits } from '../../limits.ts'
import { readBuffer } from './read-buffer.ts'
import { socketEndpoints } from './socket-endpoints.ts'
import {
  type StreamHandle,
  type StreamInternals,
  UV_EOF,
  type WriteRequest,
} from './stream-internals.ts'
import { type Endpoints, type Transport, type TransportListener, WriteResult } from './transport.ts'

export class TlsTransport implements Transport {
  readonly remoteAddress: string
  readonly #socket: TLSSocket
  readonly #handle: StreamHandle
  readonly #internals: StreamInternals
  #listener: TransportListener
  /** A TLS handle takes one write at a time. */
  #isWriting = false
  /** Copies of what came while it wrote, oldest first. */
  #queue: Buffer[] = []
  #queuedBytes = 0
  #isBehind = false
  #isEnding = false
  /** close_notify and FIN are sent. */
  #hasEnded = false
  /** Closes once everything is sent. */
  #isFinal = false
  #isClosed = false
  #code = ''

  constructor(
    socket: TLSSocket,
    handle: StreamHandle,
    internals: StreamInternals,
    listener: TransportListener,
  ) {
    this.#socket = socket
    this.#handle = handle
    this.#internals = internals
    this.#listener = listener
    this.remoteAddress = socket.remoteAddress ?? ''
    socket.on('error', (error: NodeJS.ErrnoException) => {
      this.#code = error.code ?? 'ERROR'
    })
    socket.on('close', () => this.#closed(this.#code))
    // Only a FIN that came before the handle was taken over shows here.
    socket.on('end', () => this.received(UV_EOF))
  }

  endpoints(): Endpoints {
    return socketEndpoints(this.#socket)
  }

  listenWith(listener: TransportListener): void {
    this.#listener = listener
  }

  start(): void {
    const early: Buffer | null = this.#socket.read()
    this.#handle.sluiceTransport = this
    this.#handle.onread = onRead
    this.#handle.useUserBuffer(readBuffer)
    this.#handle.readStart()
    if (early !== null) this.#listener.onBytes(early, early.length)
  }

  write(bytes: Buffer, length: number): number {
    if (this.#isClosed || this.#isEnding) return WriteResult.DONE
    if (!this.#isWriting) {
      this.#encrypt(bytes.subarray(0, length))
      return WriteResult.DONE
    }
    this.#queue.push(Buffer.from(bytes.subarray(0, length)))
    this.#queuedBytes += length
    if (this.#queuedBytes < limits.tlsPendingBytesMax) return WriteResult.DONE
    this.#isBehind = true
    return WriteResult.BEHIND
  }

  pause(): void {
    if (!this.#isClosed) this.#handle.readStop()
  }

  resume(): void {
    if (!this.#isClosed) this.#handle.readStart()
  }

  end(): boolean {
    if (this.#isClosed) return true
    const isFirst = !this.#isEnding
    this.#isEnding = true
    if (this.#isWriting) this.#isBehind = true
    else if (isFirst) this.#shutDown()
    return !this.#isWriting
  }

  finish(): boolean {
    this.#isFinal = true
    if (!this.#hasEnded) return this.end()
    this.#finished()
    return true
  }

  destroy(): void {
    this.#isClosed = true
    this.#socket.destroy()
  }

  /** An end without close_notify tells the peer that the message was cut (RFC 8446 section 6.1). */
  reset(): void {
    this.destroy()
  }

  /** `length` bytes are in the read buffer; a negative number is a status. */
  received(length: number): void {
    if (this.#isClosed) return
    if (length > 0) this.#listener.onBytes(readBuffer, length)
    else if (length === UV_EOF) this.#listener.onEnd()
    else if (length < 0) this.#fail(length)
  }

  readFromHandle(): void {
    const { streamBaseState, kReadBytesOrError } = this.#internals
    this.received(streamBaseState[kReadBytesOrError] ?? 0)
  }

  /** From the handle: the last write is with the kernel. */
  written(status: number): void {
    this.#isWriting = false
    if (this.#isClosed) return
    if (status !== 0) {
      this.#fail(status)
      return
    }
    if (this.#queue.length > 0) {
      const waiting = this.#queue.length === 1 ? this.#queue[0] : Buffer.concat(this.#queue)
      this.#queue = []
      this.#queuedBytes = 0
      if (waiting !== undefined) this.#encrypt(waiting)
      if (this.#isWriting) return
    }
    if (this.#isEnding) this.#shutDown()
    if (!this.#isBehind) return
    this.#isBehind = false
    this.#listener.onWritable()
  }

  #encrypt(view: Uint8Array): void {
    const request = new this.#internals.WriteWrap()
    request.oncomplete = onWritten
    request.bytes = undefined
    request.owner = this
    this.#isWriting = true
    const error = this.#handle.writeBuffer(request, view)
    if (error !== 0) {
      this.#isWriting = false
      setImmediate(() => this.#fail(error))
    } else if (this.#internals.streamBaseState[this.#internals.kLastWriteWasAsync] === 0) {
      this.#isWriting = false
    }
  }

  /** close_notify, then FIN. */
  #shutDown(): void {
    const request = new this.#internals.ShutdownWrap()
    request.oncomplete = () => {
      this.#hasEnded = true
      if (this.#isFinal) this.#finished()
    }
    this.#handle.shutdown(request)
  }

  #finished(): void {
    if (this.#isClosed) return
    this.#socket.destroy()
    this.#closed('')
  }

  #fail(status: number): void {
    if (this.#isClosed) return
    this.#socket.destroy()
    this.#closed(getSystemErrorName(status))
  }

  #closed(code: string): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#listener.onClosed(code)
  }
}

function onRead(this: StreamHandle): void {
  const transport = this.sluiceTransport as TlsTransport
  transport.readFromHandle()
}

function onWritten(this: WriteRequest, status: number): void {
  const transport = this.owner as TlsTransport
  transport.written(status)
}

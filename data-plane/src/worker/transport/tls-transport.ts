/**
 * A TLS connection through its handles, without a tls.TLSSocket: decrypted bytes go into the worker's shared
 * read buffer, and a write is encrypted at once. Begins after the handshake (listeners/tls-handshake.ts). Hot.
 */
import { getSystemErrorName } from 'node:util'
import { limits } from '../../limits.ts'
import { handleEndpoints, peerAddress } from './handle-endpoints.ts'
import type { LargeWriters } from './large-writers.ts'
import { readBuffer } from './read-buffer.ts'
import {
  type StreamHandle,
  type StreamInternals,
  streamInternals,
  UV_EOF,
  type WriteRequest,
} from './stream-internals.ts'
import type { TlsHandle } from './tls-internals.ts'
import { type Endpoints, type Transport, type TransportListener, WriteResult } from './transport.ts'

const internals = streamInternals ?? {
  WriteWrap: Object,
  ShutdownWrap: Object,
  kReadBytesOrError: 0,
  kLastWriteWasAsync: 0,
  streamBaseState: new Int32Array(0),
}
const { streamBaseState, kReadBytesOrError, kLastWriteWasAsync, WriteWrap, ShutdownWrap } =
  internals as StreamInternals

const NOTHING = Buffer.alloc(0)

export interface TlsTransportParts {
  readonly handle: StreamHandle
  /** Over `handle`; reads into the read buffer. */
  readonly tls: TlsHandle
  readonly largeWriters: LargeWriters
  /** Called once, when the descriptor is closed. */
  readonly onReleased: (() => void) | undefined
}

export class TlsTransport implements Transport {
  readonly remoteAddress: string
  readonly #parts: TlsTransportParts
  readonly #tls: TlsHandle
  #listener: TransportListener
  /** A TLS handle takes one write at a time. */
  #isWriting = false
  #writtenBytes = 0
  #isLargeWriter = false
  /** A copy of what is to be written next, from `#waitingAt` on. */
  #waiting: Buffer = NOTHING
  #waitingAt = 0
  /** Copies of what comes after it, oldest first. */
  #queue: Buffer[] = []
  #pendingBytes = 0
  #isBehind = false
  #isEnding = false
  /** close_notify and FIN are sent. */
  #hasEnded = false
  /** Closes once everything is sent. */
  #isFinal = false
  #isClosed = false

  constructor(parts: TlsTransportParts, listener: TransportListener) {
    const { handle, tls } = parts
    this.#parts = parts
    this.#tls = tls
    this.#listener = listener
    this.remoteAddress = peerAddress(handle)
    tls.sluiceTransport = this
    tls.onread = onRead
    tls.onerror = onError
  }

  endpoints(): Endpoints {
    return handleEndpoints(this.#parts.handle)
  }

  listenWith(listener: TransportListener): void {
    this.#listener = listener
  }

  /** The handshake reads already. */
  start(): void {}

  write(bytes: Buffer, length: number): number {
    if (this.#isClosed || this.#isEnding) return WriteResult.DONE
    let at = 0
    if (!this.#isWriting) {
      at = Math.min(length, this.#pieceBytesMax)
      this.#encrypt(bytes.subarray(0, at))
      if (at === length) return WriteResult.DONE
    }
    this.#queue.push(Buffer.from(bytes.subarray(at, length)))
    this.#pendingBytes += length - at
    if (this.#pendingBytes < limits.tlsPendingBytesMax) return WriteResult.DONE
    this.#isBehind = true
    return WriteResult.BEHIND
  }

  pause(): void {
    if (!this.#isClosed) this.#tls.readStop()
  }

  resume(): void {
    if (!this.#isClosed) this.#tls.readStart()
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
    if (this.#isClosed) return
    this.#isClosed = true
    this.#queue = []
    this.#waiting = NOTHING
    if (this.#isLargeWriter) this.#parts.largeWriters.leave()
    this.#parts.handle.close(() => {
      this.#tls.destroySSL()
      this.#parts.onReleased?.()
    })
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
    else if (length < 0) this.failed(getSystemErrorName(length))
  }

  /** From the handle: the last write is with the kernel. */
  written(status: number): void {
    this.#isWriting = false
    if (this.#isClosed) return
    if (status !== 0) {
      this.failed(getSystemErrorName(status))
      return
    }
    if (this.#pendingBytes > 0) {
      this.#encryptNext()
      if (this.#isWriting) return
    }
    if (this.#isEnding) this.#shutDown()
    if (!this.#isBehind) return
    this.#isBehind = false
    this.#listener.onWritable()
  }

  failed(code: string): void {
    if (this.#isClosed) return
    this.destroy()
    this.#listener.onClosed(code)
  }

  get #pieceBytesMax(): number {
    return this.#isLargeWriter ? limits.tlsLargeWriteBytesMax : limits.tlsWriteBytesMax
  }

  #encryptNext(): void {
    if (this.#waitingAt === this.#waiting.length) {
      const [first = NOTHING] = this.#queue
      this.#waiting = this.#queue.length === 1 ? first : Buffer.concat(this.#queue)
      this.#waitingAt = 0
      this.#queue = []
    }
    const from = this.#waitingAt
    const to = Math.min(from + this.#pieceBytesMax, this.#waiting.length)
    const piece = this.#waiting.subarray(from, to)
    this.#pendingBytes -= piece.length
    this.#waitingAt = to
    if (to === this.#waiting.length) {
      this.#waiting = NOTHING
      this.#waitingAt = 0
    }
    this.#encrypt(piece)
  }

  #encrypt(view: Uint8Array): void {
    const request = new WriteWrap()
    request.oncomplete = onWritten
    request.bytes = undefined
    request.owner = this
    this.#isWriting = true
    if (!this.#isLargeWriter) {
      this.#writtenBytes += view.length
      const isBusy = this.#writtenBytes > limits.tlsSmallWritesBytesMax
      // One that never has much at once has no use for it.
      if (isBusy && view.length === limits.tlsWriteBytesMax) {
        this.#isLargeWriter = this.#parts.largeWriters.enter()
      }
    }
    const error = this.#tls.writeBuffer(request, view)
    if (error !== 0) {
      this.#isWriting = false
      setImmediate(() => this.failed(getSystemErrorName(error)))
    } else if (streamBaseState[kLastWriteWasAsync] === 0) {
      this.#isWriting = false
    }
  }

  /** close_notify, then FIN. */
  #shutDown(): void {
    const request = new ShutdownWrap()
    request.oncomplete = () => {
      this.#hasEnded = true
      if (this.#isFinal) this.#finished()
    }
    this.#tls.shutdown(request)
  }

  #finished(): void {
    this.failed('')
  }
}

function onRead(this: StreamHandle): void {
  const transport = this.sluiceTransport as TlsTransport
  transport.received(streamBaseState[kReadBytesOrError] ?? 0)
}

function onError(this: StreamHandle, error: NodeJS.ErrnoException): void {
  const transport = this.sluiceTransport as TlsTransport
  transport.failed(error.code ?? 'ERROR')
}

function onWritten(this: WriteRequest, status: number): void {
  const transport = this.owner as TlsTransport
  transport.written(status)
}

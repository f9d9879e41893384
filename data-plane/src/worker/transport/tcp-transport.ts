/**
 * A TCP connection through its libuv handle, without a net.Socket: reads go into one buffer that all
 * connections of the worker share, and a write that the kernel takes at once costs one call and no promise,
 * callback or tick. Hot.
 */
import { getSystemErrorName } from 'node:util'
import { handleEndpoints, peerAddress } from './handle-endpoints.ts'
import { readBuffer } from './read-buffer.ts'
import {
  type StreamHandle,
  type StreamInternals,
  streamInternals,
  UV_EOF,
  type WriteRequest,
} from './stream-internals.ts'
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

/** A write that completed at once leaves its request untouched, so the next one takes it again. */
let spareRequest: WriteRequest | undefined

function onRead(this: StreamHandle): void {
  const transport = this.sluiceTransport as TcpTransport
  const length = streamBaseState[kReadBytesOrError] ?? 0
  if (length > 0) transport.received(length)
  else if (length === UV_EOF) transport.ended()
  else if (length < 0) transport.failed(length)
}

function onWritten(this: WriteRequest, status: number): void {
  const transport = this.owner as TcpTransport
  this.bytes = undefined
  transport.written(status)
}

export class TcpTransport implements Transport {
  readonly remoteAddress: string
  readonly #handle: StreamHandle
  readonly #onReleased: (() => void) | undefined
  #listener: TransportListener
  #pendingWrites = 0
  #writeCount = 0
  #isBroken = false
  #hasPeerEnded = false
  #isEnding = false
  /** The FIN is sent. */
  #hasEnded = false
  /** Closes once everything is sent. */
  #isFinal = false
  #isClosed = false

  /** `onReleased`: called once, when the descriptor is closed. */
  constructor(handle: StreamHandle, listener: TransportListener, onReleased?: () => void) {
    this.#handle = handle
    this.#onReleased = onReleased
    this.#listener = listener
    this.remoteAddress = peerAddress(handle)
    handle.sluiceTransport = this
    handle.onread = onRead
    handle.useUserBuffer(readBuffer)
  }

  endpoints(): Endpoints {
    return handleEndpoints(this.#handle)
  }

  listenWith(listener: TransportListener): void {
    this.#listener = listener
  }

  start(): void {
    const error = this.#handle.readStart()
    if (error !== 0) this.failed(error)
  }

  write(bytes: Buffer, length: number): number {
    if (this.#isClosed || this.#isBroken) return WriteResult.DONE
    // Nothing can wait for an acknowledgement before the second write, so a short connection saves the call.
    this.#writeCount += 1
    if (this.#writeCount === 2) this.#handle.setNoDelay(true)
    const request = spareRequest ?? new WriteWrap()
    spareRequest = undefined
    const view = bytes.subarray(0, length)
    request.oncomplete = onWritten
    request.bytes = view
    request.owner = this
    const error = this.#handle.writeBuffer(request, view)
    if (error !== 0) {
      this.#breakWriting(error)
      return WriteResult.DONE
    }
    if (streamBaseState[kLastWriteWasAsync] === 0) {
      request.bytes = undefined
      request.owner = undefined
      spareRequest = request
      return WriteResult.DONE
    }
    this.#pendingWrites += 1
    return WriteResult.KEPT
  }

  pause(): void {
    if (!this.#isClosed) this.#handle.readStop()
  }

  resume(): void {
    if (!this.#isClosed) this.#handle.readStart()
  }

  end(): boolean {
    if (this.#isClosed) return true
    if (!this.#isEnding) this.#shutDown()
    return this.#pendingWrites === 0
  }

  finish(): boolean {
    this.#isFinal = true
    if (this.#pendingWrites > 0 && !this.#hasEnded) return this.end()
    this.#finished()
    return true
  }

  destroy(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#handle.close(this.#onReleased)
  }

  reset(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    if (this.#handle.reset(this.#onReleased) !== 0) this.#handle.close(this.#onReleased)
  }

  received(length: number): void {
    if (!this.#isClosed) this.#listener.onBytes(readBuffer, length)
  }

  ended(): void {
    if (this.#isClosed) return
    this.#hasPeerEnded = true
    this.#handle.readStop()
    this.#listener.onEnd()
  }

  failed(status: number): void {
    if (this.#isClosed) return
    this.destroy()
    this.#listener.onClosed(getSystemErrorName(status))
  }

  written(status: number): void {
    this.#pendingWrites -= 1
    if (this.#isClosed) return
    if (status !== 0) this.#breakWriting(status)
    if (this.#pendingWrites === 0) this.#listener.onWritable()
  }

  #shutDown(): void {
    this.#isEnding = true
    const request = new ShutdownWrap()
    request.oncomplete = () => {
      this.#hasEnded = true
      if (this.#isFinal) this.#finished()
    }
    this.#handle.shutdown(request)
  }

  #finished(): void {
    if (this.#isClosed) return
    this.destroy()
    this.#listener.onClosed('')
  }

  /**
   * While the peer may still be heard, what it says last counts (an early answer before its RST); after its
   * FIN only writing can show that it is gone.
   */
  #breakWriting(status: number): void {
    this.#isBroken = true
    if (this.#hasPeerEnded) setImmediate(() => this.failed(status))
  }
}

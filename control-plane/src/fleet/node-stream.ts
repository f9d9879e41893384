/**
 * One bidirectional call of a node: requests are handled one at a time and in order, the next one is not
 * read before; answers are written with a deadline; the end is polite first and certain soon after.
 */
import { constants, type ServerHttp2Stream } from 'node:http2'
import { Metadata, type ServerDuplexStream, status } from '@grpc/grpc-js'
import type { FleetLog } from './fleet-log.ts'
import { FleetRefusal } from './fleet-refusal.ts'
import type { Decoded } from './service-definitions.ts'

export type NodeCall<Request> = ServerDuplexStream<Decoded<Request>, Buffer>

export class NodeStream<Request> {
  readonly #call: NodeCall<Request>
  readonly #log: FleetLog
  readonly #endGraceMs: number
  readonly #closeListeners = new Set<() => void>()
  #isClosed = false
  #isEnding = false
  #writes = 0

  constructor(call: NodeCall<Request>, options: { log: FleetLog; endGraceMs: number }) {
    this.#call = call
    this.#log = options.log
    this.#endGraceMs = options.endGraceMs
    // At once: a stream of grpc-js throws when nobody listens.
    call.on('error', (error: Error) => {
      this.#log.debug(
        { err: error, peer: call.getPeer() },
        'a stream of a node ended with an error',
      )
    })
    call.once('cancelled', () => this.#close())
    call.once('close', () => this.#close())
  }

  get isOpen(): boolean {
    return !this.#isClosed && !this.#isEnding
  }

  /** True while the network has not taken all that was written. */
  get isWriting(): boolean {
    return this.#writes > 0
  }

  get address(): string {
    return this.#call.getPeer()
  }

  /** Returns the function that ends the subscription. */
  onClosed(listener: () => void): () => void {
    if (this.#isClosed) {
      listener()
    } else {
      this.#closeListeners.add(listener)
    }
    return () => this.#closeListeners.delete(listener)
  }

  /** Tells the node that its stream was taken, though there may be nothing to say yet. */
  accept(): void {
    if (this.isOpen) {
      this.#call.sendMetadata(new Metadata())
    }
  }

  /** Hands each request to `handle`; what it throws ends the stream. */
  read(handle: (request: Request) => Promise<void>): void {
    this.#call.on('data', (decoded: Decoded<Request>) => {
      this.#call.pause()
      this.#handleOne(decoded, handle)
        .then(() => {
          if (this.isOpen) {
            this.#call.resume()
          }
        })
        .catch((error: unknown) => this.fail(error))
    })
    this.#call.once('end', () => {
      if (this.isOpen) {
        this.#isEnding = true
        this.#call.end()
        this.#resetSoon()
      }
    })
  }

  /**
   * Resolves with true when the network took the bytes, with false when the stream ended first. A peer that
   * does not read for `timeoutMs` loses its stream, so nothing gathers here for it.
   */
  write(bytes: Buffer, timeoutMs: number): Promise<boolean> {
    if (!this.isOpen) {
      return Promise.resolve(false)
    }
    return new Promise((resolve) => {
      this.#writes += 1
      const settle = (isWritten: boolean) => {
        clearTimeout(timer)
        forget()
        resolve(isWritten)
      }
      const timer = setTimeout(() => {
        this.end(status.UNAVAILABLE, `the node did not read for ${timeoutMs / 1_000} s`)
      }, timeoutMs)
      const forget = this.onClosed(() => settle(false))
      this.#call.write(bytes, () => {
        this.#writes -= 1
        settle(!this.#isClosed)
      })
    })
  }

  /** Ends with the status of a refusal; anything else is our own fault, which the node is not told. */
  fail(error: unknown): void {
    if (error instanceof FleetRefusal) {
      this.end(error.code, error.details)
    } else {
      this.#log.error({ err: error, peer: this.address }, 'a stream of a node failed')
      this.end(status.INTERNAL, 'internal error of the control plane')
    }
  }

  end(code: status, details: string): void {
    if (!this.isOpen) {
      return
    }
    this.#isEnding = true
    this.#call.emit('error', Object.assign(new Error(details), { code, details }))
    this.#resetSoon()
  }

  async #handleOne(
    decoded: Decoded<Request>,
    handle: (request: Request) => Promise<void>,
  ): Promise<void> {
    if (decoded.kind === 'malformed') {
      this.end(status.INVALID_ARGUMENT, 'the message cannot be decoded')
    } else if (this.isOpen) {
      await handle(decoded.request)
    }
  }

  /** The status waits behind what is not written yet, so a peer that does not read would keep the stream. */
  #resetSoon(): void {
    const timer = setTimeout(() => {
      // grpc-js has no call for this: the wrapped HTTP/2 stream is private to it.
      const inner = this.#call as unknown as { call?: { stream?: ServerHttp2Stream } }
      inner.call?.stream?.close(constants.NGHTTP2_CANCEL)
    }, this.#endGraceMs)
    this.onClosed(() => clearTimeout(timer))
  }

  #close(): void {
    if (this.#isClosed) {
      return
    }
    this.#isClosed = true
    for (const listener of [...this.#closeListeners]) {
      listener()
    }
    this.#closeListeners.clear()
  }
}

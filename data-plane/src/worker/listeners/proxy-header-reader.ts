/**
 * Reads the PROXY protocol header that a connection begins with, before TLS or HTTP sees a byte of it, within
 * the time that a request's head has. Owns the socket until the header is there; ends in one call.
 */
import type { Socket } from 'node:net'
import { limits } from '../../limits.ts'
import { type Deadline, type DeadlineSweep, NEVER } from '../deadline-sweep.ts'
import { readProxyHeader } from '../proxy-protocol/read-header.ts'
import type { Endpoints } from '../transport/transport.ts'

export interface ProxyHeaderListener {
  /**
   * The socket is the listener's, and paused. `ends`: what the header says, if it says anything.
   * `rest`: bytes that came after it.
   */
  onHeader(socket: Socket, ends: Endpoints | undefined, rest: Buffer): void
  /** The socket is closed. `isRefused`: not by the peer before it sent a byte. */
  onNoHeader(isRefused: boolean): void
}

export class ProxyHeaderReader implements Deadline {
  deadlineAt: number
  sweepIndex = -1
  readonly #socket: Socket
  readonly #deadlines: DeadlineSweep
  readonly #listener: ProxyHeaderListener
  #bytes: Buffer = Buffer.alloc(0)
  readonly #onData = (bytes: Buffer): void => this.#take(bytes)
  readonly #onGone = (): void => this.#refuse(this.#bytes.length > 0)

  constructor(socket: Socket, deadlines: DeadlineSweep, listener: ProxyHeaderListener) {
    this.#socket = socket
    this.#deadlines = deadlines
    this.#listener = listener
    this.deadlineAt = deadlines.after(limits.headTimeoutMs)
    deadlines.add(this)
    socket.on('data', this.#onData)
    socket.on('end', this.#onGone)
    socket.on('close', this.#onGone)
  }

  onDeadline(): void {
    this.#refuse(true)
  }

  #take(bytes: Buffer): void {
    this.#bytes = this.#bytes.length === 0 ? bytes : Buffer.concat([this.#bytes, bytes])
    const header = readProxyHeader(this.#bytes)
    switch (header.kind) {
      case 'incomplete':
        return
      case 'malformed':
        this.#refuse(true)
        return
      case 'header':
        this.#finish()
        // Its next owner comes within this call, so no byte is lost in between.
        this.#socket.pause()
        this.#listener.onHeader(this.#socket, header.ends, this.#bytes.subarray(header.length))
    }
  }

  #refuse(isRefused: boolean): void {
    this.#finish()
    this.#socket.destroy()
    this.#listener.onNoHeader(isRefused)
  }

  #finish(): void {
    this.deadlineAt = NEVER
    this.#deadlines.remove(this)
    this.#socket.off('data', this.#onData)
    this.#socket.off('end', this.#onGone)
    this.#socket.off('close', this.#onGone)
  }
}

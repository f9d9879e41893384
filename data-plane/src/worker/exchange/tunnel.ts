/**
 * Two connections that speak a protocol of their own after a 101 (RFC 9110 section 7.8): bytes pass on as they
 * come, both ways, with back-pressure and half-closes, until both sides have ended or nothing has come for
 * too long. Takes the transports over from the connections that opened them.
 */
import { Outcome } from '@sluice/proto'
import { limits } from '../../limits.ts'
import { type Deadline, type DeadlineSweep, NEVER } from '../deadline-sweep.ts'
import type { OutputBuffer } from '../http1/output-buffer.ts'
import type { Transport, TransportListener } from '../transport/transport.ts'

export interface TunnelOptions {
  readonly output: OutputBuffer
  readonly deadlines: DeadlineSweep
  readonly client: Transport
  readonly server: Transport
  /** Called once; the transports may be closed then. */
  readonly onEnded: (outcome: Outcome) => void
}

export class Tunnel implements Deadline {
  deadlineAt = NEVER
  sweepIndex = -1
  readonly client: TunnelEnd
  readonly server: TunnelEnd
  readonly #options: TunnelOptions
  #hasEnded = false

  constructor(options: TunnelOptions) {
    this.#options = options
    this.client = new TunnelEnd(this, options.output, options.client, Outcome.CLIENT_LEFT)
    this.server = new TunnelEnd(this, options.output, options.server, Outcome.UPSTREAM_FAILED)
    this.client.peer = this.server
    this.server.peer = this.client
    options.client.listenWith(this.client)
    options.server.listenWith(this.server)
    options.deadlines.add(this)
    this.touch()
  }

  touch(): void {
    this.deadlineAt = this.#options.deadlines.after(limits.tunnelIdleTimeoutMs)
  }

  onDeadline(): void {
    this.finish(Outcome.UPSTREAM_TIMED_OUT)
  }

  /** FIN to both sides: the node is about to stop. */
  close(): void {
    this.client.endWriting()
    this.server.endWriting()
  }

  /** Ends the tunnel when both sides have ended and everything was delivered. */
  finishIfDone(): void {
    const areEnded = this.client.hasEnded && this.server.hasEnded
    if (areEnded && !this.client.isBehind && !this.server.isBehind) {
      this.finish(Outcome.ORIGIN_ANSWERED)
    }
  }

  finish(outcome: Outcome): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    this.#options.deadlines.remove(this)
    this.#options.onEnded(outcome)
  }
}

export class TunnelEnd implements TransportListener {
  peer: TunnelEnd | undefined
  /** Its FIN came. */
  hasEnded = false
  /** What was written to it waits in its transport. */
  isBehind = false
  /** Bytes that came from it. */
  byteCount = 0
  readonly #tunnel: Tunnel
  readonly #output: OutputBuffer
  readonly #transport: Transport
  readonly #lossOutcome: Outcome

  constructor(tunnel: Tunnel, output: OutputBuffer, transport: Transport, lossOutcome: Outcome) {
    this.#tunnel = tunnel
    this.#output = output
    this.#transport = transport
    this.#lossOutcome = lossOutcome
  }

  onBytes(bytes: Buffer, length: number): void {
    this.#tunnel.touch()
    this.byteCount += length
    const isAhead = this.peer?.send(bytes, length) === true
    if (!isAhead) this.#transport.pause()
  }

  onEnd(): void {
    this.hasEnded = true
    this.peer?.endWriting()
    this.#tunnel.finishIfDone()
  }

  onWritable(): void {
    this.isBehind = false
    this.#tunnel.touch()
    this.peer?.resume()
    this.#tunnel.finishIfDone()
  }

  onClosed(): void {
    this.#tunnel.finish(this.#lossOutcome)
  }

  /** False: the peer must wait. */
  send(bytes: Buffer, length: number): boolean {
    let at = 0
    while (at < length) {
      const end = Math.min(length, at + limits.readBytesMax)
      this.#output.copy(bytes, at, end)
      if (!this.#output.flush(this.#transport)) this.isBehind = true
      at = end
    }
    return !this.isBehind
  }

  endWriting(): void {
    if (!this.#transport.end()) this.isBehind = true
  }

  resume(): void {
    this.#transport.resume()
  }
}

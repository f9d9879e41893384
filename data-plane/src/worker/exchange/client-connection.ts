/**
 * One HTTP/1.1 connection from a client: takes requests off it one after the other, gives their bodies to the
 * exchange, and writes what the exchange answers. LIFECYCLE.md draws its phases. Hot.
 */
import { Outcome } from '@sluice/proto'
import { limits } from '../../limits.ts'
import { type Deadline, NEVER } from '../deadline-sweep.ts'
import type { Engine } from '../engine.ts'
import { type HeadParser, INCOMPLETE } from '../http1/head-parser.ts'
import { keptTrailers } from '../http1/trailers.ts'
import type { Transport, TransportListener } from '../transport/transport.ts'
import { AnswerWriter, type BehindListener } from './answer-writer.ts'
import type { EntryPoint } from './entry-point.ts'
import { Exchange } from './exchange.ts'
import { HeldBytes } from './held-bytes.ts'
import type { OwnStatus } from './own-answers.ts'
import { ReadingGate } from './reading-gate.ts'
import { BodyState, RequestBody } from './request-body.ts'

type Phase =
  /** Waits for a request, or for the rest of its head. */
  | 'head'
  /** Takes a request's body. */
  | 'body'
  /** The request is whole, the answer is not. */
  | 'answer'
  /** Speaks another protocol; the transport is the tunnel's. */
  | 'tunnel'
  /** The answer is given; the rest of a short request body is read and dropped. */
  | 'drain'
  /** The answer was the last; FIN is sent, and what the client still sends is read away. */
  | 'linger'
  | 'closed'

export class ClientConnection implements TransportListener, Deadline, BehindListener {
  deadlineAt = NEVER
  sweepIndex = -1
  readonly entryPoint: EntryPoint
  readonly #engine: Engine
  readonly #exchange: Exchange
  #transport: Transport | undefined
  #phase: Phase = 'head'
  readonly #held = new HeldBytes()
  readonly #body = new RequestBody()
  readonly writer: AnswerWriter
  /** A loop over held requests runs further up the stack. */
  #isTaking = false
  readonly #reading = new ReadingGate()
  #hasPeerEnded = false
  #lingered = 0
  #hasServed = false
  /** The deadline of the head that is awaited runs. */
  #isHeadTimed = true

  constructor(engine: Engine, entryPoint: EntryPoint) {
    this.#engine = engine
    this.entryPoint = entryPoint
    this.#exchange = new Exchange(engine, this)
    this.writer = new AnswerWriter(engine.output, this)
  }

  attach(transport: Transport): void {
    this.#transport = transport
    this.#reading.attach(transport)
    this.writer.attach(transport)
    this.#exchange.setPeer(transport)
    this.#engine.deadlines.add(this)
    this.#expectWithin(limits.headTimeoutMs)
  }

  /** Ends the connection now if nothing runs on it; otherwise its next answer is the last. */
  drain(): void {
    if (this.#phase !== 'head' || !this.#held.isEmpty || this.writer.isBehind) return
    // A new connection's request is most likely on its way, and its client would see a failure.
    if (this.#hasServed) this.#beginLinger(false)
    else this.#expectWithin(limits.drainedFirstRequestMs)
  }

  onBytes(bytes: Buffer, length: number): void {
    switch (this.#phase) {
      case 'head':
        this.#takeFromHead(bytes, length)
        return
      case 'body':
        this.#expectWithin(limits.bodyIdleTimeoutMs)
        this.#takeBodyAndRest(bytes, length)
        return
      case 'answer':
        this.#hold(bytes, 0, length)
        return
      case 'drain':
        this.#dropBody(bytes, length)
        return
      case 'linger':
        this.#lingered += length
        // Not closed yet: the RST would take the answer from a client that has still to read it.
        if (this.#lingered > limits.lingerBytesMax) this.#reading.hold(true)
        return
      case 'tunnel':
      case 'closed':
        return
    }
  }

  /** The client's half-close: a complete request is still answered (RFC 9112 section 9.6). */
  onEnd(): void {
    this.#hasPeerEnded = true
    switch (this.#phase) {
      case 'head':
        this.#beginLinger(false)
        return
      case 'answer':
        this.#exchange.onClientEnded()
        return
      case 'linger':
        this.#transport?.finish()
        return
      default:
        this.abort(Outcome.CLIENT_LEFT)
    }
  }

  onClosed(): void {
    this.abort(Outcome.CLIENT_LEFT)
  }

  onWritable(): void {
    this.writer.isBehind = false
    if (this.#phase === 'linger') {
      this.#expectWithin(limits.lingerTimeoutMs)
      return
    }
    if (this.#exchange.isOpen) {
      this.expectBody()
      this.#exchange.onClientWritable()
    } else if (this.#phase === 'head') {
      this.#expectWithin(limits.clientIdleTimeoutMs)
      this.#takeHeld()
      if (this.isClosing) this.drain()
    }
  }

  onDeadline(): void {
    if (this.#phase === 'head' && !this.#held.isEmpty && !this.writer.isBehind) {
      this.#exchange.refuse(408)
      return
    }
    if (this.#phase === 'body' && !this.writer.isBehind && !this.#exchange.isAnswerStarted) {
      this.#exchange.failRequest(408)
      return
    }
    this.abort(Outcome.CLIENT_LEFT)
  }

  /** The server is behind: no more of the request's body is read. */
  pauseRequest(): void {
    if (this.#reading.isServerBehind) return
    this.#reading.waitForServer(true)
    // Where the client is behind too, it is the only one with a time-out.
    if (!this.writer.isBehind) this.deadlineAt = NEVER
  }

  resumeRequest(): void {
    if (!this.#reading.isServerBehind) return
    this.#reading.waitForServer(false)
    if (this.#phase === 'body') this.expectBody()
  }

  /** Writes a 101 and gives the transport away. Returns the bytes that the client sent ahead. */
  switchProtocol(
    head: HeadParser,
    bytes: Buffer,
    from: number,
    to: number,
  ): { transport: Transport; early: Buffer | undefined; hasEnded: boolean } | undefined {
    this.writer.switching(head, bytes, from, to)
    const transport = this.#transport
    if (transport === undefined) return undefined
    const early = this.#held.take()
    this.#phase = 'tunnel'
    this.deadlineAt = NEVER
    this.#reading.hold(false)
    return { transport, early, hasEnded: this.#hasPeerEnded }
  }

  /** Ends the connection now. `isCut`: what ran on it is not whole, and the client must be able to see that. */
  end(isCut: boolean): void {
    if (isCut) this.#transport?.reset()
    else this.#transport?.destroy()
    this.#forget()
  }

  /** Ends whatever runs, without any more ado. */
  abort(outcome: Outcome): void {
    this.#close()
    this.#exchange.abandon(outcome)
  }

  /** The drain's grace is over: a tunnel ends with FINs, anything else now. */
  endGrace(): void {
    if (this.#phase === 'tunnel') this.#exchange.closeTunnel()
    else if (this.#phase !== 'linger') this.abort(Outcome.SHED)
  }

  onBehind(): void {
    this.#expectWithin(limits.bodyIdleTimeoutMs)
  }

  /** The exchange is over: goes on with the next request, or ends the connection. */
  afterAnswer(): void {
    if (this.#phase === 'closed') return
    const hasNothingMore = this.#hasPeerEnded && this.#held.isEmpty
    const canGoOn = !this.writer.isLast && !this.isClosing && !hasNothingMore
    if (!canGoOn || !this.#canReachNextRequest()) {
      this.#beginLinger(this.#isLastAnnounced())
    } else if (this.#phase === 'body') {
      this.#phase = 'drain'
      this.#expectWithin(limits.bodyIdleTimeoutMs)
      this.resumeRequest()
    } else {
      this.#becomeIdle()
    }
  }

  /**
   * A client that announced its last request sends nothing after it, so nothing unread can turn a close into
   * an RST that would take the answer with it. Saves the wait for its FIN on each such connection.
   */
  #isLastAnnounced(): boolean {
    const isWhole = this.#phase === 'answer' && this.#held.isEmpty
    return isWhole && !this.#exchange.request.wantsKeepAlive
  }

  /** An answer that the node gives itself. `isRefusal`: nothing after the request can be trusted. */
  answer(status: OwnStatus, isRefusal: boolean): void {
    const request = this.#exchange.request
    const isLast =
      isRefusal || !request.wantsKeepAlive || this.isClosing || !this.#canReachNextRequest()
    this.writer.own(status, request, isLast)
  }

  /** Whether the rest of the running request is short enough to be read and dropped. */
  #canReachNextRequest(): boolean {
    if (this.#phase === 'answer') return true
    const isShort = this.#body.isLengthKnown && this.#body.remaining <= limits.drainedBodyBytesMax
    return isShort && !this.#exchange.request.expectsContinue
  }

  /** The answer cannot be completed: the client must be able to see that. */
  cutAnswer(): void {
    this.writer.flush()
    if (this.writer.endsWithConnection) this.end(true)
    else this.#beginLinger(false)
  }

  #takeFromHead(bytes: Buffer, length: number): void {
    if (this.#held.isEmpty && !this.writer.isBehind) this.#takeRequests(bytes, 0, length)
    else if (this.#hold(bytes, 0, length) && !this.writer.isBehind) this.#takeHeld()
  }

  #takeHeld(): void {
    const held = this.#held.take()
    if (held !== undefined) this.#takeRequests(held, 0, held.length)
    const isHeadAwaited = this.#phase === 'head' && !this.writer.isBehind
    if (this.#held.isEmpty || isHeadAwaited) this.#reading.hold(false)
  }

  /** Takes requests as long as each is answered before the next one is looked at. */
  #takeRequests(bytes: Buffer, from: number, to: number): void {
    let at = from
    this.#isTaking = true
    while (at < to && this.#phase === 'head' && !this.writer.isBehind) {
      const end = this.#engine.requestHead.parseRequest(bytes, at, to)
      if (end < 0) {
        this.#isTaking = false
        if (end === INCOMPLETE) this.#awaitRestOfHead(bytes, at, to)
        else this.#exchange.refuse(-end as OwnStatus)
        return
      }
      at = this.#takeRequest(bytes, at, end, to)
    }
    this.#isTaking = false
    if (at === to) return
    if (this.#phase === 'head' || this.#phase === 'answer') this.#hold(bytes, at, to)
    else this.onBytes(bytes.subarray(at, to), to - at)
  }

  /** Begins an exchange; where the next request may start. */
  #takeRequest(bytes: Buffer, from: number, headEnd: number, to: number): number {
    const head = this.#engine.requestHead
    this.#hasServed = true
    this.#isHeadTimed = false
    this.#phase = this.#body.begin(head) ? 'body' : 'answer'
    this.deadlineAt = NEVER
    this.#exchange.begin(head, bytes, from, headEnd)
    if (this.#phase !== 'body') return headEnd
    this.expectBody()
    return this.#takeBody(bytes, headEnd, to)
  }

  #takeBodyAndRest(bytes: Buffer, length: number): void {
    const at = this.#takeBody(bytes, 0, length)
    if (at < length) this.onBytes(bytes.subarray(at, length), length - at)
  }

  /** Gives the body in bytes[from..to) to the exchange; where it stopped. */
  #takeBody(bytes: Buffer, from: number, to: number): number {
    const state = this.#body.take(this.#exchange, bytes, from, to)
    if (state === BodyState.MALFORMED) {
      this.#exchange.failRequest(400)
      return to
    }
    if (state === BodyState.ENDED) {
      this.#phase = 'answer'
      if (!this.writer.isBehind) this.deadlineAt = NEVER
      this.#exchange.endBody(keptTrailers(this.#body.trailers))
    }
    this.#exchange.flushRequest()
    return this.#body.at
  }

  #dropBody(bytes: Buffer, length: number): void {
    if (this.#body.drop(0, length) === BodyState.MORE) return
    const at = this.#body.at
    this.#becomeIdle()
    if (at < length) this.onBytes(bytes.subarray(at, length), length - at)
    if (this.isClosing) this.drain()
  }

  #becomeIdle(): void {
    this.#phase = 'head'
    this.#isHeadTimed = false
    if (this.writer.isBehind) return
    this.#expectWithin(limits.clientIdleTimeoutMs)
    if (!this.#isTaking) this.#takeHeld()
  }

  /** A head has one deadline from its first byte on; each further byte does not move it. */
  #awaitRestOfHead(bytes: Buffer, from: number, to: number): void {
    this.#hold(bytes, from, to)
    if (this.#isHeadTimed) return
    this.#isHeadTimed = true
    this.#expectWithin(limits.headTimeoutMs)
  }

  /** Connections end with their answer. */
  get isClosing(): boolean {
    return this.#engine.isDraining || this.entryPoint.isClosing
  }

  /** True: a head may be complete now. */
  #hold(bytes: Buffer, from: number, to: number): boolean {
    const mayBeHead = this.#held.add(bytes, from, to)
    // While an answer runs one read ahead is enough; the end of the connection is still seen by writing.
    if (this.#phase === 'answer' || this.writer.isBehind) this.#reading.hold(true)
    return mayBeHead
  }

  /** RFC 9112 section 9.6: FIN first, so that the client can read the answer before any RST. */
  #beginLinger(isPeerDone: boolean): void {
    if (this.#transport === undefined) return
    this.#phase = 'linger'
    this.#held.clear()
    const isFinal = this.#hasPeerEnded || isPeerDone
    const isGone = isFinal ? this.#transport.finish() : this.#transport.end()
    if (!isGone) this.writer.isBehind = true
    this.#expectWithin(this.writer.isBehind ? limits.bodyIdleTimeoutMs : limits.lingerTimeoutMs)
    if (isFinal) return
    this.#reading.hold(false)
    this.resumeRequest()
  }

  #close(): void {
    // A cut answer that only the connection's end marks must not end like a whole one.
    const isCut = this.writer.endsWithConnection && (this.writer.isBehind || this.#exchange.isOpen)
    this.end(isCut)
  }

  #forget(): void {
    if (this.#transport === undefined) return
    this.#transport = undefined
    this.writer.attach(undefined)
    this.#phase = 'closed'
    this.#held.clear()
    this.#engine.deadlines.remove(this)
    this.#engine.gauges.connectionsClosed += 1
    this.entryPoint.connections.delete(this)
  }

  /** The next part of the body is due, if there is one, it is read, and it need not wait for a 100. */
  expectBody(): void {
    const isHeldBack = this.#exchange.request.awaitsContinue || this.#reading.isServerBehind
    const isDue = this.#phase === 'body' && !isHeldBack
    this.deadlineAt = isDue ? this.#engine.deadlines.after(limits.bodyIdleTimeoutMs) : NEVER
  }

  #expectWithin(ms: number): void {
    this.deadlineAt = this.#engine.deadlines.after(ms)
  }
}

/**
 * One HTTP/1.1 connection from a client: takes requests off it one after the other, gives their bodies to the
 * exchange, and writes what the exchange answers. LIFECYCLE.md draws its phases. Hot.
 */
import { limits } from '../../limits.ts'
import { type Deadline, NEVER } from '../deadline-sweep.ts'
import type { Engine } from '../engine.ts'
import type { BodyLength } from '../http1/framing.ts'
import { type HeadParser, INCOMPLETE } from '../http1/head-parser.ts'
import type { Transport, TransportListener } from '../transport/transport.ts'
import { AnswerWriter } from './answer-writer.ts'
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
  /** The answer is given; the rest of a short request body is read and dropped. */
  | 'drain'
  /** The answer was the last; FIN is sent, and what the client still sends is read away. */
  | 'linger'
  | 'closed'

export class ClientConnection implements TransportListener, Deadline {
  deadlineAt = NEVER
  sweepIndex = -1
  readonly entryPoint: EntryPoint
  readonly #engine: Engine
  readonly #exchange: Exchange
  #transport: Transport | undefined
  #phase: Phase = 'head'
  readonly #held = new HeldBytes()
  readonly #body = new RequestBody()
  readonly #writer: AnswerWriter
  #closesAfterAnswer = false
  /** A loop over held requests runs further up the stack. */
  #isTaking = false
  readonly #reading = new ReadingGate()
  /** What was written waits in the transport. */
  #isBehind = false
  #hasPeerEnded = false
  #lingered = 0
  #hasServed = false
  /** The deadline of the head that is awaited runs. */
  #isHeadTimed = true

  constructor(engine: Engine, entryPoint: EntryPoint) {
    this.#engine = engine
    this.entryPoint = entryPoint
    this.#exchange = new Exchange(engine, this)
    this.#writer = new AnswerWriter(engine.output)
  }

  attach(transport: Transport): void {
    this.#transport = transport
    this.#reading.attach(transport)
    this.#exchange.setPeer(transport.remoteAddress)
    this.#engine.deadlines.add(this)
    this.#expectWithin(limits.headTimeoutMs)
  }

  /** Ends the connection now if nothing runs on it; otherwise its next answer is the last. */
  drain(): void {
    if (this.#phase !== 'head' || !this.#held.isEmpty || this.#isBehind) return
    // A new connection's request is most likely on its way, and its client would see a failure.
    if (this.#hasServed) this.#beginLinger()
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
        if (this.#lingered > limits.lingerBytesMax) this.#close()
        return
      case 'closed':
        return
    }
  }

  /** The client's half-close: a complete request is still answered (RFC 9112 section 9.6). */
  onEnd(): void {
    this.#hasPeerEnded = true
    switch (this.#phase) {
      case 'head':
        this.#beginLinger()
        return
      case 'answer':
        return
      case 'linger':
        if (!this.#isBehind) this.#close()
        return
      default:
        this.#leave()
    }
  }

  onClosed(): void {
    this.#leave()
  }

  onWritable(): void {
    this.#isBehind = false
    if (this.#phase === 'linger') {
      if (this.#hasPeerEnded) this.#close()
      else this.#expectWithin(limits.lingerTimeoutMs)
      return
    }
    if (this.#exchange.isOpen) {
      this.deadlineAt =
        this.#phase === 'body' ? this.#engine.deadlines.after(limits.bodyIdleTimeoutMs) : NEVER
      this.#exchange.onClientWritable()
    } else if (this.#phase === 'head') {
      this.#expectWithin(limits.clientIdleTimeoutMs)
      this.#takeHeld()
    }
  }

  onDeadline(): void {
    if (this.#phase === 'head' && !this.#held.isEmpty && !this.#isBehind) {
      this.#exchange.refuse(408)
      return
    }
    if (this.#phase === 'body' && !this.#isBehind && !this.#exchange.isAnswerStarted) {
      this.#exchange.failRequest(408)
      return
    }
    this.#leave()
  }

  /** The server is behind: no more of the request's body is read. */
  pauseRequest(): void {
    if (this.#reading.isServerBehind) return
    this.#reading.waitForServer(true)
    this.deadlineAt = NEVER
  }

  resumeRequest(): void {
    if (!this.#reading.isServerBehind) return
    this.#reading.waitForServer(false)
    if (this.#phase === 'body') this.#expectWithin(limits.bodyIdleTimeoutMs)
  }

  /** A 1xx answer; HTTP/1.0 clients know none. */
  writeInterim(head: HeadParser, bytes: Buffer, from: number, to: number): void {
    if (this.#exchange.request.minorVersion === 0) return
    this.#writer.interim(head, bytes, from, to)
    this.flush()
  }

  /** The final answer's head. `body`: how its end is found on the server's side. */
  writeAnswerHead(
    head: HeadParser,
    bytes: Buffer,
    from: number,
    to: number,
    body: BodyLength,
  ): void {
    const request = this.#exchange.request
    const isOld = request.minorVersion === 0
    this.#writer.begin(body, isOld)
    this.#closesAfterAnswer =
      !request.wantsKeepAlive ||
      this.#engine.isDraining ||
      this.#phase !== 'answer' ||
      this.#writer.endsWithConnection
    this.#writer.head(head, bytes, from, to, isOld, this.#closesAfterAnswer)
  }

  writeAnswerBody(bytes: Buffer, from: number, to: number): void {
    if (!this.#engine.output.hasRoom(to - from)) this.flush()
    this.#writer.body(bytes, from, to)
  }

  /** Sends what the output buffer holds. False: the client is behind. */
  flush(): boolean {
    if (this.#transport === undefined) {
      this.#engine.output.discard()
      return true
    }
    this.#exchange.bytesOut += this.#engine.output.length
    if (!this.#engine.output.flush(this.#transport)) {
      this.#isBehind = true
      this.#expectWithin(limits.bodyIdleTimeoutMs)
    }
    return !this.#isBehind
  }

  /** The answer is whole. The exchange records itself and then calls afterAnswer. */
  endAnswer(): void {
    this.#writer.end()
    this.flush()
  }

  /** The exchange is over: goes on with the next request, or ends the connection. */
  afterAnswer(): void {
    if (this.#phase === 'closed') return
    const hasNothingMore = this.#hasPeerEnded && this.#held.isEmpty
    if (this.#closesAfterAnswer || this.#engine.isDraining || hasNothingMore) {
      this.#beginLinger()
    } else if (this.#phase === 'body') {
      this.#phase = 'drain'
      this.#expectWithin(limits.bodyIdleTimeoutMs)
      this.resumeRequest()
    } else {
      this.#becomeIdle()
    }
  }

  /** An answer that the node gives itself. `isRefusal`: nothing after the request can be trusted. */
  answer(status: OwnStatus, isRefusal: boolean): void {
    const request = this.#exchange.request
    this.#closesAfterAnswer =
      isRefusal ||
      !request.wantsKeepAlive ||
      this.#engine.isDraining ||
      !this.#canReachNextRequest()
    const isOld = request.minorVersion === 0
    this.#writer.own(status, request.isHead, isOld, this.#closesAfterAnswer)
    this.flush()
  }

  /** Whether the rest of the running request is short enough to be read and dropped. */
  #canReachNextRequest(): boolean {
    if (this.#phase === 'answer') return true
    const isShort = this.#body.isLengthKnown && this.#body.remaining <= limits.drainedBodyBytesMax
    return isShort && !this.#exchange.request.expectsContinue
  }

  /** The answer cannot be completed: the client must be able to see that. */
  cutAnswer(): void {
    this.flush()
    if (!this.#writer.endsWithConnection) {
      this.#beginLinger()
      return
    }
    this.#transport?.reset()
    this.#forget()
  }

  #takeFromHead(bytes: Buffer, length: number): void {
    if (this.#held.isEmpty && !this.#isBehind) this.#takeRequests(bytes, 0, length)
    else if (this.#hold(bytes, 0, length) && !this.#isBehind) this.#takeHeld()
  }

  #takeHeld(): void {
    const held = this.#held.take()
    if (held !== undefined) this.#takeRequests(held, 0, held.length)
    const isHeadAwaited = this.#phase === 'head' && !this.#isBehind
    if (this.#held.isEmpty || isHeadAwaited) this.#reading.hold(false)
  }

  /** Takes requests as long as each is answered before the next one is looked at. */
  #takeRequests(bytes: Buffer, from: number, to: number): void {
    let at = from
    this.#isTaking = true
    while (at < to && this.#phase === 'head' && !this.#isBehind) {
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
    this.#expectWithin(limits.bodyIdleTimeoutMs)
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
      if (!this.#isBehind) this.deadlineAt = NEVER
      this.#exchange.endBody()
    }
    this.#exchange.flushRequest()
    return this.#body.at
  }

  #dropBody(bytes: Buffer, length: number): void {
    if (this.#body.drop(0, length) === BodyState.MORE) return
    const at = this.#body.at
    this.#becomeIdle()
    if (at < length) this.onBytes(bytes.subarray(at, length), length - at)
  }

  #becomeIdle(): void {
    this.#phase = 'head'
    this.#isHeadTimed = false
    if (this.#isBehind) return
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

  /** True: a head may be complete now. */
  #hold(bytes: Buffer, from: number, to: number): boolean {
    const mayBeHead = this.#held.add(bytes, from, to)
    // While an answer runs one read ahead is enough; the end of the connection is still seen by writing.
    if (this.#phase === 'answer' || this.#isBehind) this.#reading.hold(true)
    return mayBeHead
  }

  /** RFC 9112 section 9.6: FIN first, so that the client can read the answer before any RST. */
  #beginLinger(): void {
    if (this.#transport === undefined) return
    this.#phase = 'linger'
    this.#held.clear()
    if (!this.#transport.end()) this.#isBehind = true
    if (this.#hasPeerEnded && !this.#isBehind) {
      this.#close()
      return
    }
    this.#expectWithin(this.#isBehind ? limits.bodyIdleTimeoutMs : limits.lingerTimeoutMs)
    this.#reading.hold(false)
    this.resumeRequest()
  }

  /** The client is gone, or as good as gone. */
  #leave(): void {
    this.#close()
    this.#exchange.onClientLeft()
  }

  #close(): void {
    // A cut answer that only the connection's end marks must not end like a whole one.
    const isCut = this.#writer.endsWithConnection && (this.#isBehind || this.#exchange.isOpen)
    if (isCut) this.#transport?.reset()
    else this.#transport?.destroy()
    this.#forget()
  }

  #forget(): void {
    if (this.#transport === undefined) return
    this.#transport = undefined
    this.#phase = 'closed'
    this.#held.clear()
    this.#engine.deadlines.remove(this)
    this.#engine.gauges.connectionsClosed += 1
    this.entryPoint.connections.delete(this)
  }

  #expectWithin(ms: number): void {
    this.deadlineAt = this.#engine.deadlines.after(ms)
  }
}

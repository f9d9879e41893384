/**
 * One HTTP/1.1 connection to a server: reads answers, checks them, and tells the exchange that has it. Goes
 * back to its server only when both messages ended cleanly and nothing is left unread. Hot.
 */
import { limits } from '../../limits.ts'
import { type Deadline, NEVER } from '../deadline-sweep.ts'
import { ChunkedDecoder, ChunkStep } from '../http1/chunked-decoder.ts'
import { BodyLength } from '../http1/framing.ts'
import { type HeadParser, INCOMPLETE } from '../http1/head-parser.ts'
import type { Transport, TransportListener } from '../transport/transport.ts'
import { keptForMs } from './keep-alive.ts'
import type { UpstreamContext, UpstreamServer } from './upstream-server.ts'

/** Why an answer did not come, or not whole. */
export type UpstreamFailure = 'closed' | 'malformed' | 'timeout'

/** The exchange, as the connection to a server sees it. */
export interface AnswerListener {
  readonly isHeadRequest: boolean
  readonly isRequestSent: boolean
  /** It has the whole request, or its client waits for its 100. */
  readonly isServerAwaited: boolean
  /** The request asked for another protocol. */
  readonly awaitsSwitch: boolean
  /** A 1xx answer in bytes[from..to). */
  onInterim(head: HeadParser, bytes: Buffer, from: number, to: number): void
  /** The final answer's head, and how its body ends. */
  onAnswerHead(head: HeadParser, bytes: Buffer, from: number, to: number, body: BodyLength): void
  onAnswerBody(bytes: Buffer, from: number, to: number): void
  /** All of one read was given: what is there can be sent. */
  onAnswerRead(): void
  onAnswerEnd(trailers: string): void
  /** A 101 in bytes[from..to), with the server's first bytes after it, up to `end`. */
  onSwitch(head: HeadParser, bytes: Buffer, from: number, to: number, end: number): void
  onUpstreamWritable(): void
  onUpstreamFailed(failure: UpstreamFailure): void
}

export class UpstreamConnection implements TransportListener, Deadline {
  deadlineAt = NEVER
  sweepIndex = -1
  readonly server: UpstreamServer
  /** Had an exchange before: the server may have closed it in the meantime. */
  isReused = false
  /** A byte of the running exchange's answer came. */
  hasAnswered = false
  readonly #context: UpstreamContext
  #transport: Transport | undefined
  #exchange: AnswerListener | undefined
  #isInHead = true
  #body: BodyLength = BodyLength.NONE
  #remaining = 0
  #chunks: ChunkedDecoder | undefined
  #held: Buffer | undefined
  #mayKeep = false
  #isPaused = false
  /** The server has not taken all that was written. */
  #isBehind = false
  #keptForMs: number = limits.upstreamIdleTimeoutMs
  #openedAt = 0

  constructor(server: UpstreamServer, context: UpstreamContext) {
    this.server = server
    this.#context = context
  }

  attach(transport: Transport): void {
    this.#transport = transport
    this.#openedAt = this.#context.deadlines.now
    this.#context.gauges.upstreamConnectionsOpen += 1
    this.#context.deadlines.add(this)
  }

  /** Takes an exchange, whose request then follows through the output buffer and `flush`. */
  begin(exchange: AnswerListener): void {
    this.#exchange = exchange
    this.#isInHead = true
    this.#held = undefined
    this.hasAnswered = false
    this.deadlineAt = NEVER
  }

  /** Sends what is in the output buffer. False: wait for onUpstreamWritable. */
  flush(): boolean {
    if (this.#transport === undefined || this.#context.output.flush(this.#transport)) return true
    this.#isBehind = true
    this.#expectProgress()
    return false
  }

  /** The request is complete: the answer is due. */
  expectAnswer(): void {
    this.#expectProgress()
  }

  /** The client is behind; it has time-outs of its own. */
  pause(): void {
    if (this.#isPaused) return
    this.#isPaused = true
    this.deadlineAt = NEVER
    this.#transport?.pause()
  }

  resume(): void {
    if (!this.#isPaused) return
    this.#isPaused = false
    this.#expectProgress()
    this.#transport?.resume()
  }

  /** The transport, for a protocol of its own. Ends with `destroy`. */
  release(): Transport | undefined {
    this.#exchange = undefined
    this.deadlineAt = NEVER
    return this.#transport
  }

  destroy(): void {
    if (this.#transport === undefined) return
    this.#close()
    this.server.admitWaiting()
  }

  onBytes(bytes: Buffer, length: number): void {
    if (this.#exchange === undefined) {
      // Nothing was asked for, so whatever this is, it is no answer.
      this.#lose()
      return
    }
    this.hasAnswered = true
    // What precedes the final head, and parts of it, do not put off the time by which it is due.
    if (!this.#isInHead || this.#isBehind) this.#expectProgress()
    if (this.#held === undefined) {
      this.#take(bytes, length)
      return
    }
    const joined = Buffer.concat([this.#held, bytes.subarray(0, length)])
    this.#held = undefined
    this.#take(joined, joined.length)
  }

  onEnd(): void {
    const isWhole = !this.#isInHead && this.#body === BodyLength.UNTIL_CLOSE
    if (this.#exchange !== undefined && isWhole) this.#finish(false)
    else this.#lose()
  }

  onClosed(): void {
    this.#lose()
  }

  onWritable(): void {
    this.#isBehind = false
    if (this.#exchange === undefined) return
    this.#expectProgress()
    this.#exchange.onUpstreamWritable()
  }

  onDeadline(): void {
    this.#fail('timeout')
  }

  #take(bytes: Buffer, length: number): void {
    const exchange = this.#exchange
    if (exchange === undefined) return
    const at = this.#isInHead ? this.#takeHeads(exchange, bytes, length) : 0
    if (at === INCOMPLETE) return
    switch (this.#body) {
      case BodyLength.NONE:
        this.#finish(at === length)
        return
      case BodyLength.LENGTH:
        this.#takeLength(exchange, bytes, at, length)
        return
      case BodyLength.CHUNKED:
        this.#takeChunks(exchange, bytes, at, length)
        return
      case BodyLength.UNTIL_CLOSE:
        if (at < length) exchange.onAnswerBody(bytes, at, length)
        exchange.onAnswerRead()
        return
    }
  }

  /** Where the body begins, or INCOMPLETE: there is no final head yet, or the exchange has failed. */
  #takeHeads(exchange: AnswerListener, bytes: Buffer, length: number): number {
    const head = this.#context.answerHead
    let at = 0
    for (;;) {
      const end = head.parseAnswer(bytes, at, length)
      if (end === INCOMPLETE) {
        this.#held = Buffer.from(bytes.subarray(at, length))
        exchange.onAnswerRead()
        return INCOMPLETE
      }
      if (end > 0 && head.status === 101 && exchange.awaitsSwitch) {
        exchange.onSwitch(head, bytes, at, end, length)
        return INCOMPLETE
      }
      // A protocol switch that nobody asked for is as wrong as a malformed head (RFC 9110 section 7.8).
      if (end < 0 || head.status === 101) {
        this.#fail('malformed')
        return INCOMPLETE
      }
      if (head.status >= 200) {
        this.#beginBody(exchange, head, bytes, at, end)
        return end
      }
      exchange.onInterim(head, bytes, at, end)
      at = end
    }
  }

  #beginBody(exchange: AnswerListener, head: HeadParser, bytes: Buffer, at: number, end: number) {
    const status = head.status
    const isBodyless = exchange.isHeadRequest || status === 204 || status === 304
    this.#isInHead = false
    this.#expectProgress()
    this.#body = isBodyless ? BodyLength.NONE : head.bodyLength
    this.#remaining = head.contentLength
    const isPersistent = head.minorVersion === 1 ? !head.hasClose : head.hasKeepAlive
    // One that announced its client is of no use to another.
    const isShared = this.server.settings.proxyProtocol === 'off'
    this.#mayKeep = isPersistent && !head.hasBothLengths && isShared
    if (this.#body === BodyLength.CHUNKED) {
      this.#chunks ??= new ChunkedDecoder()
      this.#chunks.reset()
    }
    if (head.keepAliveIndex >= 0) {
      const from = head.valueStarts[head.keepAliveIndex] ?? 0
      const to = head.valueEnds[head.keepAliveIndex] ?? 0
      this.#keptForMs = keptForMs(bytes.toString('latin1', from, to))
    }
    exchange.onAnswerHead(head, bytes, at, end, this.#body)
  }

  #takeLength(exchange: AnswerListener, bytes: Buffer, from: number, to: number): void {
    const end = Math.min(to, from + this.#remaining)
    if (end > from) exchange.onAnswerBody(bytes, from, end)
    this.#remaining -= end - from
    if (this.#remaining === 0) this.#finish(end === to)
    else exchange.onAnswerRead()
  }

  #takeChunks(exchange: AnswerListener, bytes: Buffer, from: number, to: number): void {
    const chunks = this.#chunks
    if (chunks === undefined) return
    let at = from
    while (at < to) {
      const step = chunks.step(bytes, at, to)
      at = chunks.at
      if (step === ChunkStep.DATA) exchange.onAnswerBody(bytes, chunks.dataStart, chunks.dataEnd)
      else if (step === ChunkStep.ENDED) {
        this.#finish(at === to)
        return
      } else if (step === ChunkStep.MALFORMED) {
        exchange.onAnswerRead()
        this.#fail('malformed')
        return
      }
    }
    exchange.onAnswerRead()
  }

  /** The answer is whole. `isClean`: nothing followed it. */
  #finish(isClean: boolean): void {
    const exchange = this.#exchange
    if (exchange === undefined) return
    this.#exchange = undefined
    this.isReused = true
    const trailers = this.#body === BodyLength.CHUNKED ? (this.#chunks?.trailers ?? '') : ''
    const keptForMs = Math.min(this.#keptForMs, this.#remainingAgeMs())
    if (!isClean || !this.#mayKeep || !exchange.isRequestSent || keptForMs <= 0) {
      this.destroy()
      exchange.onAnswerEnd(trailers)
      return
    }
    this.resume()
    this.#expectWithin(keptForMs)
    // Who waits gets it when the answer has left the output buffer; nobody else may take it until then.
    const isAwaited = this.server.isAwaited
    if (!isAwaited) this.server.giveBack(this)
    exchange.onAnswerEnd(trailers)
    if (isAwaited) this.server.giveBack(this)
  }

  #remainingAgeMs(): number {
    const ageMaxMs = this.server.settings.connectionAgeMaxMs
    return ageMaxMs === 0 ? NEVER : this.#openedAt + ageMaxMs - this.#context.deadlines.now
  }

  #lose(): void {
    this.#fail('closed')
  }

  #fail(failure: UpstreamFailure): void {
    const exchange = this.#exchange
    this.#exchange = undefined
    if (exchange === undefined) this.server.forget(this)
    this.#close()
    exchange?.onUpstreamFailed(failure)
    this.server.admitWaiting()
  }

  #close(): void {
    if (this.#transport === undefined) return
    this.#transport.destroy()
    this.#transport = undefined
    this.server.release()
    this.#held = undefined
    this.#context.deadlines.remove(this)
    this.#context.gauges.upstreamConnectionsOpen -= 1
  }

  /**
   * The server's time-out runs while the server is awaited: it is behind, has the whole request, or the client
   * waits for its 100. While the client is awaited, its own time-outs run: a server may well say nothing during a slow upload.
   */
  #expectProgress(): void {
    const isAwaited = this.#isBehind || this.#exchange?.isServerAwaited === true
    if (this.#isPaused || !isAwaited) {
      this.deadlineAt = NEVER
      return
    }
    const { firstByteMs, idleMs } = this.server.settings
    this.#expectWithin(this.#isInHead && !this.#isBehind ? firstByteMs : idleMs)
  }

  #expectWithin(ms: number): void {
    this.deadlineAt = this.#context.deadlines.after(ms)
  }
}

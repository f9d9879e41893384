/**
 * One request and its answer, with all attempts: picks the route and the server, passes both bodies on with
 * back-pressure, and ends in exactly one record. The object is used again for the connection's next request,
 * so nothing is allocated for it. Hot.
 */
import { Outcome } from '@sluice/proto'
import { NO_ROUTER } from '../../configuration/route-table.ts'
import { limits } from '../../limits.ts'
import type { Engine } from '../engine.ts'
import { BodyLength } from '../http1/framing.ts'
import type { HeadParser } from '../http1/head-parser.ts'
import type { Transport } from '../transport/transport.ts'
import type {
  AnswerListener,
  UpstreamConnection,
  UpstreamFailure,
} from '../upstreams/upstream-connection.ts'
import type {
  Dial,
  DialFailure,
  DialListener,
  UpstreamServer,
} from '../upstreams/upstream-server.ts'
import type { ClientConnection } from './client-connection.ts'
import { ClientPeer } from './client-peer.ts'
import { ExchangeRecord } from './exchange-record.ts'
import type { OwnStatus } from './own-answers.ts'
import { Request } from './request.ts'
import { Tunnel } from './tunnel.ts'

export class Exchange implements AnswerListener, DialListener {
  readonly request = new Request()
  readonly record: ExchangeRecord
  isHeadRequest = false
  /** The request has left for the server, whole. */
  isRequestSent = false
  isAnswerStarted = false
  readonly client: ClientConnection
  readonly #engine: Engine
  readonly #peer: ClientPeer
  #upstream: UpstreamConnection | undefined
  #dial: Dial | undefined
  #body: BodyLength = BodyLength.NONE
  #isRequestWhole = false
  /** The body's bytes that came before there was a connection. */
  #waitingBody: Buffer | undefined
  #trailers = ''
  #tunnel: Tunnel | undefined

  constructor(engine: Engine, client: ClientConnection) {
    this.#engine = engine
    this.client = client
    this.#peer = new ClientPeer(client.entryPoint)
    this.record = new ExchangeRecord(engine)
  }

  get awaitsSwitch(): boolean {
    return this.request.wantsUpgrade
  }

  get isOpen(): boolean {
    return this.record.isOpen
  }

  setPeer(transport: Transport): void {
    this.#peer.set(transport)
  }

  /** A complete head in bytes[from..to), just parsed. May end the exchange at once. */
  begin(head: HeadParser, bytes: Buffer, from: number, to: number): void {
    this.#open(to - from)
    const routing = this.client.entryPoint.routing
    this.#peer.judge(routing)
    const body = head.bodyLength
    this.#body = body
    this.#isRequestWhole = body === BodyLength.NONE
    const status = this.request.read(head, bytes, from, to, this.#peer)
    if (status !== 0) {
      this.#refuse(status as OwnStatus)
      return
    }
    this.isHeadRequest = this.request.isHead
    const request = this.request
    const router = routing.table.match(
      request.canonicalHost,
      request.path,
      request.method,
      request.clientAddress,
    )
    if (router === NO_ROUTER) {
      this.#answerOwn(404, Outcome.PROXY_ANSWERED)
      return
    }
    this.record.route = routing.routes[router]
    this.#forward()
  }

  /** A head that cannot be read as a request. */
  refuse(status: OwnStatus): void {
    this.#open(0)
    this.request.clear()
    this.#refuse(status)
  }

  /** The running request turned out malformed, or stopped coming. */
  failRequest(status: OwnStatus): void {
    this.#dropUpstream()
    if (this.isAnswerStarted) {
      this.#close(Outcome.REQUEST_REFUSED)
      this.client.cutAnswer()
      return
    }
    this.#refuse(status)
  }

  /** A part of the request's body. Follow with flushRequest. */
  takeBody(bytes: Buffer, from: number, to: number): void {
    this.record.bytesIn += to - from
    if (this.#upstream === undefined) {
      this.#keepBody(bytes, from, to)
      return
    }
    const output = this.#engine.output
    if (!output.hasRoom(to - from)) this.flushRequest()
    if (this.#body === BodyLength.CHUNKED) output.chunk(bytes, from, to)
    else output.copy(bytes, from, to)
  }

  /** `trailers`: the lines that go on with a chunked body. */
  endBody(trailers: string): void {
    this.#isRequestWhole = true
    this.#trailers = trailers
    if (this.#upstream === undefined) return
    if (this.#body === BodyLength.CHUNKED) this.#engine.output.lastChunk(trailers)
  }

  /** Sends what the output buffer holds of the request. */
  flushRequest(): void {
    const upstream = this.#upstream
    if (!this.isOpen || upstream === undefined) return
    const isAhead = upstream.flush()
    if (this.#isRequestWhole) {
      this.isRequestSent = true
      upstream.expectAnswer()
    } else if (!isAhead) {
      this.client.pauseRequest()
    }
  }

  onClientWritable(): void {
    this.#upstream?.resume()
  }

  /** The client's connection is gone. */
  abandon(outcome: Outcome): void {
    if (!this.isOpen) return
    if (this.#tunnel !== undefined) {
      this.#tunnel.finish(outcome)
      return
    }
    this.#dropUpstream()
    this.#close(outcome)
  }

  closeTunnel(): void {
    this.#tunnel?.close()
  }

  onConnected(connection: UpstreamConnection): void {
    this.#dial = undefined
    this.#send(connection)
    this.#sendWaitingBody()
    this.flushRequest()
  }

  /** Nothing was sent, so any request may go to the next server. */
  onDialFailed(failure: DialFailure): void {
    this.#dial = undefined
    if (failure === 'exhausted') {
      this.#engine.warnings.warn('descriptors-used-up')
      this.#answerOwn(503, Outcome.SHED)
      return
    }
    const isLast = this.record.attempts >= Math.min(limits.attemptsMax, this.#serverCount())
    if (!isLast) {
      this.#dialNext(undefined)
      return
    }
    this.#answerUpstreamFailure(failure === 'timeout')
  }

  onInterim(head: HeadParser, bytes: Buffer, from: number, to: number): void {
    this.record.noteFirstByte()
    this.client.writer.interim(head, bytes, from, to, this.request)
  }

  onAnswerHead(head: HeadParser, bytes: Buffer, from: number, to: number, body: BodyLength): void {
    this.record.noteFirstByte()
    this.isAnswerStarted = true
    this.record.status = head.status
    const mustBeLast = !this.#isRequestWhole || this.client.isClosing
    this.client.writer.head(head, bytes, from, to, body, this.request, mustBeLast)
  }

  onAnswerBody(bytes: Buffer, from: number, to: number): void {
    this.client.writer.body(bytes, from, to)
  }

  onAnswerRead(): void {
    if (!this.client.writer.flush()) this.#upstream?.pause()
  }

  onAnswerEnd(trailers: string): void {
    this.#upstream = undefined
    this.client.writer.end(trailers, this.request)
    this.#close(Outcome.ORIGIN_ANSWERED)
    this.client.afterAnswer()
  }

  /** From here on both connections speak the protocol that the client asked for. */
  onSwitch(head: HeadParser, bytes: Buffer, from: number, to: number, end: number): void {
    this.record.noteFirstByte()
    this.isAnswerStarted = true
    this.record.status = 101
    const upstream = this.#upstream
    const server = upstream?.release()
    const opened = this.client.switchProtocol(head, bytes, from, to)
    if (upstream === undefined || server === undefined || opened === undefined) return
    const tunnel = new Tunnel({
      output: this.#engine.output,
      deadlines: this.#engine.deadlines,
      client: opened.transport,
      server,
      onEnded: (outcome) => this.#endTunnel(tunnel, upstream, outcome),
    })
    this.#tunnel = tunnel
    if (opened.early !== undefined) tunnel.client.onBytes(opened.early, opened.early.length)
    if (to < end) tunnel.server.onBytes(bytes.subarray(to, end), end - to)
    if (opened.hasEnded) tunnel.client.onEnd()
  }

  onUpstreamWritable(): void {
    if (this.#isRequestWhole) this.#upstream?.expectAnswer()
    else this.client.resumeRequest()
  }

  onUpstreamFailed(failure: UpstreamFailure): void {
    const upstream = this.#upstream
    this.#upstream = undefined
    if (!this.isOpen) return
    if (this.isAnswerStarted) {
      this.#close(failure === 'timeout' ? Outcome.UPSTREAM_TIMED_OUT : Outcome.UPSTREAM_FAILED)
      this.client.cutAnswer()
      return
    }
    if (failure === 'closed' && upstream !== undefined && this.#mayRepeat(upstream)) {
      this.#dialNext(upstream.server)
      return
    }
    this.#answerUpstreamFailure(failure === 'timeout')
  }

  #open(headBytes: number): void {
    this.record.open(headBytes)
    this.client.writer.byteCount = 0
    this.isHeadRequest = false
    this.isRequestSent = false
    this.isAnswerStarted = false
    this.#waitingBody = undefined
    this.#trailers = ''
  }

  #forward(): void {
    const server = this.record.route?.upstreams.pick()
    if (server === undefined) {
      this.#answerOwn(503, Outcome.PROXY_ANSWERED)
      return
    }
    const connection = server.checkOut()
    this.record.server = server
    if (connection === undefined) {
      this.#dialNext(server)
      return
    }
    this.record.attempts += 1
    this.#send(connection)
    if (this.#isRequestWhole) this.flushRequest()
  }

  /** Puts the head into the output buffer. */
  #send(connection: UpstreamConnection): void {
    this.#upstream = connection
    this.record.server = connection.server
    connection.begin(this)
    const { proxyProtocol } = connection.server.settings
    if (proxyProtocol !== 'off') this.#engine.output.text(this.#peer.proxyHeader(proxyProtocol))
    const isHostPassed = this.record.route?.upstreams.isHostPassed !== false
    const authority =
      isHostPassed && this.request.host !== '' ? undefined : connection.server.settings.authority
    this.#engine.output.text(this.request.headFor(authority))
  }

  #dialNext(same: UpstreamServer | undefined): void {
    const server = same ?? this.record.route?.upstreams.pick()
    if (server === undefined) {
      this.#answerOwn(503, Outcome.PROXY_ANSWERED)
      return
    }
    this.record.attempts += 1
    this.record.server = server
    this.#dial = server.dial(this)
  }

  /**
   * A kept connection that fails before any byte of an answer was most likely closed by the server while the
   * request was on its way; a request that may be repeated and is still here goes once more, on a fresh one.
   */
  #mayRepeat(upstream: UpstreamConnection): boolean {
    return (
      upstream.isReused &&
      !upstream.hasAnswered &&
      this.request.isIdempotent &&
      this.#body === BodyLength.NONE
    )
  }

  #serverCount(): number {
    return this.record.route?.upstreams.serverCount ?? 0
  }

  #keepBody(bytes: Buffer, from: number, to: number): void {
    const part = bytes.subarray(from, to)
    this.#waitingBody =
      this.#waitingBody === undefined ? Buffer.from(part) : Buffer.concat([this.#waitingBody, part])
    this.client.pauseRequest()
  }

  #sendWaitingBody(): void {
    const waiting = this.#waitingBody
    this.#waitingBody = undefined
    if (waiting !== undefined) {
      this.record.bytesIn -= waiting.length
      this.takeBody(waiting, 0, waiting.length)
    }
    if (this.#isRequestWhole && this.#body === BodyLength.CHUNKED) {
      this.#engine.output.lastChunk(this.#trailers)
    }
    this.client.resumeRequest()
  }

  #endTunnel(tunnel: Tunnel, upstream: UpstreamConnection, outcome: Outcome): void {
    this.#tunnel = undefined
    this.#upstream = undefined
    this.record.bytesIn += tunnel.client.byteCount
    this.record.bytesOut += tunnel.server.byteCount
    upstream.destroy()
    this.#close(outcome)
    this.client.endTunnel(outcome !== Outcome.ORIGIN_ANSWERED)
  }

  #answerUpstreamFailure(isTimeout: boolean): void {
    if (isTimeout) this.#answerOwn(504, Outcome.UPSTREAM_TIMED_OUT)
    else this.#answerOwn(502, Outcome.UPSTREAM_FAILED)
  }

  #answerOwn(status: OwnStatus, outcome: Outcome): void {
    this.record.status = status
    this.client.answer(status, false)
    this.#close(outcome)
    this.client.afterAnswer()
  }

  #refuse(status: OwnStatus): void {
    this.record.status = status
    this.client.answer(status, true)
    this.#close(Outcome.REQUEST_REFUSED)
    this.client.afterAnswer()
  }

  #dropUpstream(): void {
    this.#dial?.cancel()
    this.#dial = undefined
    this.#upstream?.destroy()
    this.#upstream = undefined
    this.#engine.output.discard()
  }

  #close(outcome: Outcome): void {
    this.#waitingBody = undefined
    this.record.bytesOut += this.client.writer.byteCount
    this.record.close(outcome, this.request, this.client.entryPoint.name, this.#peer.address)
  }
}

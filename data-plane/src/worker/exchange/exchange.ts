/**
 * One request and its answer, with all attempts: picks the route and the server, passes both bodies on with
 * back-pressure, and ends in exactly one record. The object is used again for the connection's next request,
 * so nothing is allocated for it. Hot.
 */

import { Outcome } from '@sluice/proto'
import { limits } from '../../limits.ts'
import type { Engine, Route } from '../engine.ts'
import { BodyLength } from '../http1/framing.ts'
import type { HeadParser } from '../http1/head-parser.ts'
import type { Transport } from '../transport/transport.ts'
import type {
  AnswerListener,
  UpstreamConnection,
  UpstreamFailure,
} from '../upstreams/upstream-connection.ts'
import type { ClientConnection } from './client-connection.ts'
import { ClientPeer } from './client-peer.ts'
import { ExchangeRecord } from './exchange-record.ts'
import { KeptBody } from './kept-body.ts'
import type { OwnStatus } from './own-answers.ts'
import { Request } from './request.ts'
import { type SearchFailure, type SearchListener, ServerSearch } from './server-search.ts'
import { Tunnel } from './tunnel.ts'

export class Exchange implements AnswerListener, SearchListener {
  readonly request = new Request()
  readonly record: ExchangeRecord
  isHeadRequest = false
  /** The request has left for the server, whole. */
  isRequestSent = false
  isAnswerStarted = false
  mayWait = true
  readonly client: ClientConnection
  readonly #engine: Engine
  readonly #peer: ClientPeer
  readonly #search = new ServerSearch(this)
  #upstream: UpstreamConnection | undefined
  #body: BodyLength = BodyLength.NONE
  #isRequestWhole = false
  /** The body's bytes that wait for a connection, or may have to be sent once more. */
  readonly #kept = new KeptBody()
  /** All of the request that was sent is still here, it is idempotent, and was sent only once. */
  #isRepeatable = false
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

  get isServerAwaited(): boolean {
    return this.isRequestSent || this.request.awaitsContinue
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
    const isShort = head.contentLength <= limits.replayedBodyBytesMax
    this.#isRepeatable = this.request.isIdempotent && isShort
    const request = this.request
    const route = routing.table.match(
      request.canonicalHost,
      request.path,
      request.method,
      request.clientAddress,
    )
    if (route === undefined) {
      this.#answerOwn(404, Outcome.PROXY_ANSWERED)
      return
    }
    this.record.enter(route)
    if (route.isDraining) this.#answerOwn(503, Outcome.SHED)
    else this.#forward(route)
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
    if (this.request.awaitsContinue) this.#endContinue()
    if (this.#upstream === undefined) {
      this.#kept.add(bytes, from, to)
      // Up to here reading goes on, since only reading shows that the client has left.
      if (this.#kept.length >= limits.replayedBodyBytesMax) this.client.pauseRequest()
      return
    }
    if (this.#isRepeatable) this.#isRepeatable = this.#kept.addIfShort(bytes, from, to)
    this.#writeBody(bytes, from, to)
  }

  /** `trailers`: the lines that go on with a chunked body. */
  endBody(trailers: string): void {
    this.#isRequestWhole = true
    this.#trailers = trailers
    if (this.#upstream === undefined) {
      this.client.resumeRequest()
      return
    }
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
    } else if (this.request.awaitsContinue) {
      upstream.expectAnswer()
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

  /** A FIN may be all that is seen of a client that has left, so nothing of it waits any longer. */
  onClientEnded(): void {
    this.mayWait = false
    if (this.#search.stopWaiting()) this.onNoConnection('shed')
  }

  onConnection(connection: UpstreamConnection): void {
    this.#send(connection)
    this.#sendKeptBody()
    this.flushRequest()
  }

  onNoConnection(failure: SearchFailure): void {
    switch (failure) {
      case 'no-server':
        this.#answerOwn(503, Outcome.PROXY_ANSWERED)
        return
      case 'shed':
        this.#engine.gauges.exchangesShed += 1
        this.#answerOwn(503, Outcome.SHED)
        return
      case 'exhausted':
        this.#engine.warnings.warn('descriptors-used-up')
        this.#answerOwn(503, Outcome.SHED)
        return
      default:
        this.#answerUpstreamFailure(failure === 'timeout')
    }
  }

  onInterim(head: HeadParser, bytes: Buffer, from: number, to: number): void {
    this.record.noteFirstByte()
    if (head.status === 100 && this.request.awaitsContinue) this.#endContinue()
    this.client.writer.interim(head, bytes, from, to, this.request)
  }

  onAnswerHead(head: HeadParser, bytes: Buffer, from: number, to: number, body: BodyLength): void {
    this.record.noteFirstByte()
    this.isAnswerStarted = true
    this.record.status = head.status
    // A refusal in the middle of an upload ends the connection; a server that answers while it reads does not.
    const isRefusal = !this.#isRequestWhole && head.status >= 300
    const mustBeLast = isRefusal || this.client.isClosing
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
    if (!this.#isRequestWhole) this.client.resumeRequest()
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
    if (failure === 'closed' && upstream !== undefined && this.#repeats(upstream)) return
    this.#answerUpstreamFailure(failure === 'timeout')
  }

  #open(headBytes: number): void {
    this.record.open(headBytes)
    this.client.writer.byteCount = 0
    this.#search.reset()
    this.isHeadRequest = false
    this.isRequestSent = false
    this.isAnswerStarted = false
    this.#trailers = ''
  }

  #forward(route: Route): void {
    const connection = this.#search.begin(route.upstreams)
    if (connection === undefined) return
    this.#send(connection)
    if (this.#isRequestWhole) this.flushRequest()
  }

  /** The client need not wait any longer to send its body, or does not. */
  #endContinue(): void {
    this.request.awaitsContinue = false
    this.#upstream?.expectAnswer()
    if (!this.client.writer.isBehind) this.client.expectBody()
  }

  /** Puts the head into the output buffer. */
  #send(connection: UpstreamConnection): void {
    this.#upstream = connection
    this.isRequestSent = false
    connection.begin(this)
    const { proxyProtocol } = connection.server.settings
    if (proxyProtocol !== 'off') this.#engine.output.text(this.#peer.proxyHeader(proxyProtocol))
    const isHostPassed = this.record.route?.upstreams.isHostPassed !== false
    const authority =
      isHostPassed && this.request.host !== '' ? undefined : connection.server.settings.authority
    this.#engine.output.text(this.request.headFor(authority))
  }

  /**
   * Sends the request once more if it may be, where no byte of an answer came. A kept connection was most
   * likely closed while the request was on its way, so its server gets a fresh one; a fresh one that fails
   * speaks against its server.
   */
  #repeats(upstream: UpstreamConnection): boolean {
    if (!this.#isRepeatable || upstream.hasAnswered) return false
    if (!upstream.isReused && !this.#search.canGoOn) return false
    this.#isRepeatable = false
    if (upstream.isReused) this.#search.dialAgain()
    else this.#search.goOn()
    return true
  }

  #sendKeptBody(): void {
    const bytes = this.#kept.bytes
    const length = this.#kept.length
    for (let at = 0; bytes !== undefined && at < length; at += limits.readBytesMax) {
      this.#writeBody(bytes, at, Math.min(length, at + limits.readBytesMax))
    }
    if (length > limits.replayedBodyBytesMax) this.#isRepeatable = false
    if (!this.#isRepeatable) this.#kept.clear()
    if (this.#isRequestWhole && this.#body === BodyLength.CHUNKED) {
      this.#engine.output.lastChunk(this.#trailers)
    }
    this.client.resumeRequest()
  }

  #writeBody(bytes: Buffer, from: number, to: number): void {
    const output = this.#engine.output
    if (!output.hasRoom(to - from)) this.flushRequest()
    if (this.#body === BodyLength.CHUNKED) output.chunk(bytes, from, to)
    else output.copy(bytes, from, to)
  }

  #endTunnel(tunnel: Tunnel, upstream: UpstreamConnection, outcome: Outcome): void {
    this.#tunnel = undefined
    this.#upstream = undefined
    this.record.bytesIn += tunnel.client.byteCount
    this.record.bytesOut += tunnel.server.byteCount
    upstream.destroy()
    this.#close(outcome)
    this.client.end(outcome !== Outcome.ORIGIN_ANSWERED)
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
    this.#search.cancel()
    this.#upstream?.destroy()
    this.#upstream = undefined
    this.#engine.output.discard()
  }

  #close(outcome: Outcome): void {
    this.#kept.clear()
    this.record.server = this.#search.server
    this.record.attempts = this.#search.attempts
    this.record.bytesOut += this.client.writer.byteCount
    this.record.close(outcome, this.request, this.client.entryPoint.name, this.#peer.address)
  }
}

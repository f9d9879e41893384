/**
 * One request and its answer, with all attempts: picks the route and the server, passes both bodies on with
 * back-pressure, and ends in exactly one record. The object is used again for the connection's next request,
 * so nothing is allocated for it. Hot.
 */
import { isIPv6 } from 'node:net'
import { Outcome } from '@sluice/proto'
import { NO_ROUTER } from '../../configuration/route-table.ts'
import { limits } from '../../limits.ts'
import type { Engine, Route } from '../engine.ts'
import { BodyLength } from '../http1/framing.ts'
import type { HeadParser } from '../http1/head-parser.ts'
import { logLine } from '../observe/log-line.ts'
import type {
  AnswerListener,
  UpstreamConnection,
  UpstreamFailure,
} from '../upstreams/upstream-connection.ts'
import type { Dial, DialListener, UpstreamServer } from '../upstreams/upstream-server.ts'
import type { ClientConnection } from './client-connection.ts'
import type { OwnStatus } from './own-answers.ts'
import { type Peer, Request } from './request.ts'

export class Exchange implements AnswerListener, DialListener {
  readonly request = new Request()
  isOpen = false
  isHeadRequest = false
  /** The request has left for the server, whole. */
  isRequestSent = false
  isAnswerStarted = false
  route: Route | undefined
  server: UpstreamServer | undefined
  /** What the client was sent; 0 for nothing. */
  status = 0
  bytesIn = 0
  bytesOut = 0
  attempts = 0
  startedAt = 0
  /** 0: no byte came from a server. */
  firstByteAt = 0
  readonly client: ClientConnection
  readonly #engine: Engine
  #peer: Peer = { address: '', isTrusted: false, scheme: 'http' }
  #upstream: UpstreamConnection | undefined
  #dial: Dial | undefined
  #body: BodyLength = BodyLength.NONE
  #isRequestWhole = false
  /** The body's bytes that came before there was a connection. */
  #waitingBody: Buffer | undefined

  constructor(engine: Engine, client: ClientConnection) {
    this.#engine = engine
    this.client = client
  }

  get entryPointName(): string {
    return this.client.entryPoint.name
  }

  get peerAddress(): string {
    return this.#peer.address
  }

  setPeer(remoteAddress: string): void {
    const address = remoteAddress.startsWith('::ffff:') ? remoteAddress.slice(7) : remoteAddress
    const { scheme, routing } = this.client.entryPoint
    const isTrusted =
      routing.trustedPeers?.check(address, isIPv6(address) ? 'ipv6' : 'ipv4') === true
    this.#peer = { address, isTrusted, scheme }
  }

  /** A complete head in bytes[from..to), just parsed. May end the exchange at once. */
  begin(head: HeadParser, bytes: Buffer, from: number, to: number): void {
    this.#open(to - from)
    const body = head.bodyLength
    this.#body = body
    this.#isRequestWhole = body === BodyLength.NONE
    const status = this.request.read(head, bytes, from, to, this.#peer)
    if (status !== 0) {
      this.#refuse(status as OwnStatus)
      return
    }
    this.isHeadRequest = this.request.isHead
    const { table, routes } = this.client.entryPoint.routing
    const request = this.request
    const router = table.match(
      request.canonicalHost,
      request.path,
      request.method,
      request.clientAddress,
    )
    if (router === NO_ROUTER) {
      this.#answerOwn(404, Outcome.PROXY_ANSWERED)
      return
    }
    this.route = routes[router]
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
    this.bytesIn += to - from
    if (this.#upstream === undefined) {
      this.#keepBody(bytes, from, to)
      return
    }
    const output = this.#engine.output
    if (!output.hasRoom(to - from)) this.flushRequest()
    if (this.#body === BodyLength.CHUNKED) output.chunk(bytes, from, to)
    else output.copy(bytes, from, to)
  }

  endBody(): void {
    this.#isRequestWhole = true
    if (this.#upstream === undefined) return
    if (this.#body === BodyLength.CHUNKED) this.#engine.output.lastChunk()
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

  onClientLeft(): void {
    if (!this.isOpen) return
    this.#dropUpstream()
    this.#close(Outcome.CLIENT_LEFT)
  }

  onConnected(connection: UpstreamConnection): void {
    this.#dial = undefined
    this.#send(connection)
    this.#sendWaitingBody()
    this.flushRequest()
  }

  /** Nothing was sent, so any request may go to the next server. */
  onDialFailed(isTimeout: boolean): void {
    this.#dial = undefined
    const isLast = this.attempts >= Math.min(limits.attemptsMax, this.#serverCount())
    if (!isLast) {
      this.#dialNext(undefined)
      return
    }
    this.#answerUpstreamFailure(isTimeout)
  }

  onInterim(head: HeadParser, bytes: Buffer, from: number, to: number): void {
    this.#noteFirstByte()
    if (this.request.minorVersion === 1) this.client.writeInterim(head, bytes, from, to)
  }

  onAnswerHead(head: HeadParser, bytes: Buffer, from: number, to: number, body: BodyLength): void {
    this.#noteFirstByte()
    this.isAnswerStarted = true
    this.status = head.status
    this.client.writeAnswerHead(head, bytes, from, to, body)
  }

  onAnswerBody(bytes: Buffer, from: number, to: number): void {
    this.client.writeAnswerBody(bytes, from, to)
  }

  onAnswerRead(): void {
    if (!this.client.flush()) this.#upstream?.pause()
  }

  onAnswerEnd(): void {
    this.#upstream = undefined
    this.client.endAnswer()
    this.#close(Outcome.ORIGIN_ANSWERED)
    this.client.afterAnswer()
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
    if (failure === 'closed' && upstream !== undefined && this.#mayRepeat(upstream)) {
      this.#dialNext(upstream.server)
      return
    }
    this.#answerUpstreamFailure(failure === 'timeout')
  }

  #open(headBytes: number): void {
    this.isOpen = true
    this.isHeadRequest = false
    this.isRequestSent = false
    this.isAnswerStarted = false
    this.route = undefined
    this.server = undefined
    this.status = 0
    this.bytesIn = headBytes
    this.bytesOut = 0
    this.attempts = 0
    this.startedAt = this.#engine.now()
    this.firstByteAt = 0
    this.#waitingBody = undefined
    this.#engine.gauges.exchangesStarted += 1
  }

  #forward(): void {
    const server = this.route?.upstreams.pick()
    if (server === undefined) {
      this.#answerOwn(503, Outcome.PROXY_ANSWERED)
      return
    }
    const connection = server.checkOut()
    this.server = server
    if (connection === undefined) {
      this.#dialNext(server)
      return
    }
    this.attempts += 1
    this.#send(connection)
    if (this.#isRequestWhole) this.flushRequest()
  }

  /** Puts the head into the output buffer. */
  #send(connection: UpstreamConnection): void {
    this.#upstream = connection
    this.server = connection.server
    connection.begin(this)
    const isHostPassed = this.route?.upstreams.isHostPassed !== false
    const authority =
      isHostPassed && this.request.host !== '' ? undefined : connection.server.settings.authority
    this.#engine.output.text(this.request.headFor(authority))
  }

  #dialNext(same: UpstreamServer | undefined): void {
    const server = same ?? this.route?.upstreams.pick()
    if (server === undefined) {
      this.#answerOwn(503, Outcome.PROXY_ANSWERED)
      return
    }
    this.attempts += 1
    this.server = server
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
    return this.route?.upstreams.serverCount ?? 0
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
      this.bytesIn -= waiting.length
      this.takeBody(waiting, 0, waiting.length)
    }
    if (this.#isRequestWhole && this.#body === BodyLength.CHUNKED) this.#engine.output.lastChunk()
    this.client.resumeRequest()
  }

  #noteFirstByte(): void {
    if (this.firstByteAt === 0) this.firstByteAt = this.#engine.now()
  }

  #answerUpstreamFailure(isTimeout: boolean): void {
    if (isTimeout) this.#answerOwn(504, Outcome.UPSTREAM_TIMED_OUT)
    else this.#answerOwn(502, Outcome.UPSTREAM_FAILED)
  }

  #answerOwn(status: OwnStatus, outcome: Outcome): void {
    this.status = status
    this.client.answer(status, false)
    this.#close(outcome)
    this.client.afterAnswer()
  }

  #refuse(status: OwnStatus): void {
    this.status = status
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

  /** Counts the exchange and, if it is chosen, logs it: the one place where an exchange ends. */
  #close(outcome: Outcome): void {
    if (!this.isOpen) return
    this.isOpen = false
    this.#waitingBody = undefined
    const engine = this.#engine
    const durationMs = engine.now() - this.startedAt
    const counter = this.route?.counter ?? engine.unroutedCounter
    engine.gauges.exchangesEnded += 1
    counter.add(this.status, this.bytesIn, this.bytesOut, Math.round(durationMs * 1_000))
    const timeMs = Math.floor(performance.timeOrigin + this.startedAt + durationMs)
    const isNotable = this.status >= 500 || isFailure(outcome) || durationMs > limits.slowExchangeMs
    if (engine.sampler.chooses(timeMs, isNotable)) {
      engine.sampler.put(logLine(this, timeMs, durationMs, outcome))
    }
  }
}

function isFailure(outcome: Outcome): boolean {
  return (
    outcome === Outcome.CLIENT_LEFT ||
    outcome === Outcome.UPSTREAM_FAILED ||
    outcome === Outcome.UPSTREAM_TIMED_OUT
  )
}

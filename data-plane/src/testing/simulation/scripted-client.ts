/**
 * A client of the adversary's: sends its requests in one of several manners, may stop, leave or read slowly,
 * and checks every byte that it gets.
 */
import { demand } from './fault.ts'
import {
  type Framing,
  framingOf,
  type Head,
  type MessageListener,
  MessageReader,
  quote,
  valuesOf,
} from './message-reader.ts'
import type { PlannedAnswer } from './planned-answer.ts'
import type { PlannedRequest } from './planned-request.ts'
import type { SimulatedTransport } from './simulated-transport.ts'
import type { PeerListener, Surroundings } from './surroundings.ts'

/** The statuses that the node gives by itself. */
const OWN_STATUSES = new Set(['400', '404', '408', '414', '431', '501', '502', '503', '504', '505'])

export class ScriptedClient implements PeerListener, MessageListener {
  readonly requests: readonly PlannedRequest[]
  readonly #around: Surroundings
  readonly #isCalm: boolean
  readonly #transport: SimulatedTransport
  readonly #reader: MessageReader
  readonly #sendsAhead: boolean
  readonly #endsAfterSending: boolean
  readonly #closesWhenDone: boolean
  #sent = 0
  #isSending = false
  /** Its FIN is sent, and it still waits for answers. */
  #hasEnded = false
  /** Final answers that have begun. */
  #answered = 0
  #isInAnswer = false
  #isLastAnswer = false
  #isChunked = false
  #planned: PlannedAnswer | undefined
  #status = ''
  #bodyLength = 0
  /** Of an answer that the node gives itself. */
  #ownBody = ''
  #hasStoppedReading = false
  #isGone = false

  constructor(
    around: Surroundings,
    transport: SimulatedTransport,
    requests: readonly PlannedRequest[],
    isCalm: boolean,
  ) {
    const { random, time } = around
    this.requests = requests
    this.#around = around
    this.#transport = transport
    this.#isCalm = isCalm
    this.#reader = new MessageReader(this)
    this.#sendsAhead = random.chance(0.5)
    this.#endsAfterSending = random.chance(0.2)
    this.#closesWhenDone = random.chance(0.7)
    transport.attachPeer(this)
    time.after(random.skewed(1_000), () => this.#sendNext())
    this.#planMoods()
  }

  onBytes(bytes: Buffer): void {
    if (this.#isGone) return
    this.#reader.take(bytes)
    const isOver = this.#isLastAnswer && !this.#isInAnswer
    demand(!isOver || !this.#reader.isInMessage, () => 'bytes follow the last answer')
  }

  onEnd(): void {
    this.#noteEnd(false)
    // What is still unsent stays so; a polite client closes too.
    if (this.#around.random.chance(0.8)) this.#transport.peerEnds()
  }

  onGone(isReset: boolean): void {
    this.#noteEnd(isReset)
    this.#isGone = true
  }

  onHead(head: Head): Framing | undefined {
    const match = /^HTTP\/1\.1 (\d{3}) (.*)$/.exec(head.startLine)
    demand(match !== null, () => `no status line: ${quote(head.startLine)}`)
    demand(!this.#isLastAnswer, () => 'an answer after the last one')
    const request = this.requests[this.#answered]
    demand(request?.isBegun === true, () => `an answer that nobody asked for: ${head.startLine}`)
    this.#status = match[1] ?? ''
    for (const name of ['x-hop', 'keep-alive', 'upgrade', 'te']) {
      demand(valuesOf(head, name).length === 0, () => `${name} came through`)
    }
    const [id] = valuesOf(head, 'x-id')
    demand(id === undefined || id === request.id, () => `${request.id} got the answer of ${id}`)
    if (this.#status.startsWith('1')) {
      demand(id !== undefined && request.minorVersion === 1, () => `a ${this.#status} unasked`)
      return undefined
    }
    this.#answered += 1
    this.#isInAnswer = true
    this.#bodyLength = 0
    this.#ownBody = ''
    this.#isLastAnswer = valuesOf(head, 'connection').includes('close')
    this.#planned = this.#plannedFor(request, head, id)
    if (!this.#isCalm && this.#around.random.chance(0.05)) this.#stopReading()
    const framing = this.#framing(request, head)
    this.#isChunked = framing.kind === 'chunked'
    return framing
  }

  onBody(text: string): void {
    const planned = this.#planned
    if (planned === undefined) this.#ownBody += text
    const isRight = planned === undefined || planned.body.startsWith(text, this.#bodyLength)
    demand(isRight, () => 'a body with wrong bytes')
    this.#bodyLength += text.length
  }

  onMessageEnd(trailers: string): void {
    const request = this.#current
    const planned = this.#planned
    const isChunked = this.#isChunked && request.acceptsTrailers
    const expected = isChunked ? (planned?.trailers ?? '') : ''
    demand(trailers === expected, () => `${request.id}: trailers ${quote(trailers)}`)
    this.#isInAnswer = false
    request.isAnswered = true
    if (planned !== undefined) {
      demand(planned.isWhole, () => `${request.id}: a broken answer looks whole`)
      demand(
        planned.body.length === this.#bodyLength,
        () => `${request.id}: a short answer looks whole`,
      )
    } else {
      const isEmpty = isUnderstoodHead(request, this.#status)
      demand(
        isEmpty ? this.#ownBody === '' : this.#ownBody.startsWith(this.#status),
        () => 'an own body',
      )
    }
    const isDone = this.#answered === this.requests.length
    if (isDone && this.#closesWhenDone) this.#transport.peerEnds()
    if (!this.#sendsAhead && !this.#isSending) this.#sendNext()
  }

  /** At the end of a calm run. */
  checkAnswered(): void {
    const due = this.#isLastAnswer ? this.#answered : this.requests.length
    for (const { id, isAnswered } of this.requests.slice(0, due)) {
      demand(isAnswered, () => `${id} has no answer`)
    }
  }

  get #current(): PlannedRequest {
    return this.requests[this.#answered - 1] as PlannedRequest
  }

  #plannedFor(
    request: PlannedRequest,
    head: Head,
    id: string | undefined,
  ): PlannedAnswer | undefined {
    if (id === undefined) {
      demand(OWN_STATUSES.has(this.#status), () => `an own ${this.#status}`)
      const isExpected =
        !this.#isCalm ||
        (this.#status === '404' && !request.isRouted) ||
        // A client that has ended may have left, so it does not wait for a connection.
        (this.#status === '503' && this.#hasEnded)
      demand(isExpected, () => `${request.id} got an own ${this.#status}`)
      return undefined
    }
    const planned = request.answers[Number(valuesOf(head, 'x-answer')[0])]
    demand(planned?.statusLine === head.startLine, () => `not what was answered: ${head.startLine}`)
    return planned
  }

  #framing(request: PlannedRequest, head: Head): Framing {
    const isBodiless =
      (request.method === 'HEAD' && this.#planned !== undefined) ||
      isUnderstoodHead(request, this.#status) ||
      this.#status === '204' ||
      this.#status === '304'
    const framing = framingOf(head)
    const mustEnd =
      request.isLast || !request.isRouted || (framing === undefined && request.minorVersion === 0)
    const endsEarly = this.#isCalm && this.#isLastAnswer && !mustEnd
    demand(!endsEarly, () => `the connection ends with ${request.id}`)
    if (isBodiless) return { kind: 'none' }
    if (framing !== undefined) {
      demand(request.minorVersion === 1 || framing.kind !== 'chunked', () => 'chunks to HTTP/1.0')
      return framing
    }
    demand(request.minorVersion === 0 && this.#isLastAnswer, () => 'an answer without an end')
    return { kind: 'until-close' }
  }

  #noteEnd(isReset: boolean): void {
    if (this.#isGone) return
    if (this.#isInAnswer && this.#reader.isUntilClose && !isReset) this.onMessageEnd('')
    this.#isInAnswer = false
    this.#isGone = true
  }

  #sendNext(): void {
    const request = this.requests[this.#sent]
    if (request === undefined || this.#isGone) return
    this.#sent += 1
    this.#isSending = true
    this.#sendPart(request, 0)
  }

  #sendPart(request: PlannedRequest, from: number): void {
    if (this.#isGone) return
    const { random, time } = this.#around
    const to = random.chance(0.6)
      ? request.bytes.length
      : from + random.between(1, request.bytes.length - from)
    request.isBegun = true
    this.#transport.peerSends(request.bytes.subarray(from, to))
    if (to < request.bytes.length) {
      // An honest upload may pause for longer than a server may be silent.
      const isPause = to >= request.headLength && random.chance(0.05)
      const delayMs = isPause ? random.between(4_000, 55_000) : random.skewed(800)
      time.after(delayMs, () => this.#sendPart(request, to))
      return
    }
    this.#isSending = false
    if (request.fault === 'cut') {
      this.#stopInTheMiddle()
    } else if (this.#sent === this.requests.length) {
      if (this.#endsAfterSending) {
        this.#hasEnded = true
        this.#transport.peerEnds()
      }
    } else if (this.#sendsAhead || this.#answered === this.#sent) {
      time.after(random.skewed(300), () => this.#sendNext())
    }
  }

  #stopInTheMiddle(): void {
    const { random } = this.#around
    const choice = random.fraction()
    if (choice < 0.3) this.#transport.peerEnds()
    else if (choice < 0.5) this.#leave()
  }

  #leave(): void {
    this.#isGone = true
    if (this.#around.random.chance(0.5)) this.#transport.peerCloses()
    else this.#transport.peerResets(this.#around.random.pick(['ECONNRESET', 'ETIMEDOUT']))
  }

  /** Leaving, and reading slowly or no more. */
  #planMoods(): void {
    const { random, time } = this.#around
    if (!this.#isCalm && random.chance(0.15)) {
      time.after(random.skewed(5_000), () => this.#leave())
    }
    if (!this.#isCalm && random.chance(0.1)) {
      time.after(random.skewed(3_000), () => this.#stopReading())
    }
    while (random.chance(0.3)) {
      const from = random.skewed(3_000)
      time.after(from, () => this.#transport.peerReads(false))
      time.after(from + 1 + random.skewed(this.#isCalm ? 2_000 : 20_000), () => {
        if (!this.#hasStoppedReading) this.#transport.peerReads(true)
      })
    }
  }

  #stopReading(): void {
    this.#hasStoppedReading = true
    this.#transport.peerReads(false)
  }
}

/** A HEAD request whose method the node knew when it gave the status by itself. */
function isUnderstoodHead({ method, fault }: PlannedRequest, status: string): boolean {
  return method === 'HEAD' && (fault === 'none' || fault === 'body') && status !== '408'
}

/** A server of the adversary's: checks every byte that reaches it, and answers as planned. */
import { limits } from '../../limits.ts'
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
import { type PlannedAnswer, planAnswer } from './planned-answer.ts'
import { Attempt, type PlannedRequest } from './planned-request.ts'
import type { SimulatedTransport } from './simulated-transport.ts'
import type { PeerListener, Surroundings } from './surroundings.ts'

const HOP_BY_HOP = ['keep-alive', 'trailer', 'upgrade', 'x-hop', 'forwarded']

export interface RequestBook {
  readonly requests: ReadonlyMap<string, PlannedRequest>
  readonly isCalm: boolean
}

/** One connection of a server. */
export class ScriptedOrigin implements PeerListener, MessageListener {
  readonly #around: Surroundings
  readonly #book: RequestBook
  readonly #transport: SimulatedTransport
  readonly #reader: MessageReader
  #request: PlannedRequest | undefined
  #bodyLength = 0
  #attempt: Attempt | undefined
  #planned: PlannedAnswer | undefined
  #hasPlan = false
  #isAnswerGiven = true
  #isGone = false

  constructor(around: Surroundings, book: RequestBook, transport: SimulatedTransport) {
    const { random, time } = around
    this.#around = around
    this.#book = book
    this.#transport = transport
    this.#reader = new MessageReader(this)
    transport.attachPeer(this)
    while (random.chance(0.2)) {
      const from = random.skewed(3_000)
      time.after(from, () => transport.peerReads(false))
      if (!book.isCalm && random.chance(0.2)) break
      time.after(from + 1 + random.skewed(book.isCalm ? 1_000 : 12_000), () =>
        transport.peerReads(true),
      )
    }
    if (!book.isCalm && random.chance(0.2)) {
      time.after(random.skewed(8_000), () => this.#leave())
    }
  }

  onBytes(bytes: Buffer): void {
    if (!this.#isGone) this.#reader.take(bytes)
  }

  onEnd(): void {
    demand(false, () => 'the engine half-closes a connection to a server')
  }

  onGone(): void {
    this.#isGone = true
  }

  onHead(head: Head): Framing {
    const match = /^([A-Z]+) (\S*\/e\/([\w-]+)(?:\?\S*)?) HTTP\/1\.1$/.exec(head.startLine)
    demand(match !== null, () => `no request line: ${quote(head.startLine)}`)
    const request = this.#book.requests.get(match[3] ?? '')
    demand(request !== undefined, () => `smuggled: ${quote(head.startLine)}`)
    const { id, method } = request
    demand(this.#isAnswerGiven, () => `${id} came before the answer to ${this.#request?.id}`)
    demand(match[1] === method, () => `${id} is ${match[1]}`)
    demand(request.fault !== 'head', () => `${id} is malformed and came through`)
    demand(!request.isAfterLast, () => `${id} follows a last request and came through`)
    demand(request.isRouted, () => `${id} has no router and came through`)
    const [before] = request.attempts
    const isKept = before === undefined || before.bodyLength <= limits.replayedBodyBytesMax
    const attempt = new Attempt(this.#transport)
    request.attempts.push(attempt)
    this.#attempt = attempt
    const arrivalsMax = request.isRepeatable && isKept ? 2 : 1
    demand(request.attempts.length <= arrivalsMax, () => `${id} is repeated`)
    demand(valuesOf(head, 'host').length === 1, () => `${id} has no single Host`)
    demand(valuesOf(head, 'x-forwarded-for').join() === '192.0.2.1', () => 'X-Forwarded-For')
    for (const name of HOP_BY_HOP) {
      demand(valuesOf(head, name).length === 0, () => `${name} came through`)
    }
    const hop = [...valuesOf(head, 'connection'), ...valuesOf(head, 'te')].join()
    demand(hop === (request.acceptsTrailers ? 'TE,trailers' : ''), () => `${hop} came through`)
    this.#request = request
    this.#bodyLength = 0
    this.#hasPlan = false
    this.#isAnswerGiven = false
    if (this.#around.random.chance(0.15)) {
      this.#transport.peerSends(Buffer.from(`HTTP/1.1 100 Continue\r\nX-Id: ${id}\r\n\r\n`))
    }
    const isEarly = !this.#book.isCalm && this.#around.random.chance(0.05)
    if (isEarly) this.#answer(request)
    return framingOf(head) ?? { kind: 'none' }
  }

  onBody(text: string): void {
    const request = this.#request
    const isRight =
      request?.fault === 'body' || request?.body.startsWith(text, this.#bodyLength) === true
    this.#bodyLength += text.length
    if (this.#attempt !== undefined) this.#attempt.bodyLength = this.#bodyLength
    demand(isRight, () => `${request?.id}: a body with wrong bytes`)
  }

  onMessageEnd(trailers: string): void {
    const request = this.#request
    if (request === undefined) return
    demand(trailers === request.trailers, () => `${request.id}: trailers ${quote(trailers)}`)
    demand(request.fault === 'none', () => `${request.id} is not whole and looks so`)
    demand(
      request.body.length === this.#bodyLength,
      () => `${request.id}: a short body looks whole`,
    )
    if (!this.#hasPlan) this.#answer(request)
  }

  #answer(request: PlannedRequest): void {
    const { random, time } = this.#around
    const planned = planAnswer(random, request, this.#book.isCalm)
    this.#planned = planned
    request.answers.push(planned)
    this.#hasPlan = true
    time.after(random.skewed(this.#book.isCalm ? 200 : 1_500), () => this.#sendPart(planned, 0))
  }

  #sendPart(planned: PlannedAnswer, from: number): void {
    if (this.#isGone) return
    const { random, time } = this.#around
    const { bytes, pairAt } = planned
    const isPair = from === pairAt
    const most = from < pairAt ? pairAt : bytes.length
    let to = isPair ? from + 2 : most
    if (!isPair && random.chance(0.4)) to = random.between(Math.min(from + 1, most), most)
    this.#transport.peerSends(bytes.subarray(from, to), isPair)
    if (to < bytes.length) {
      time.after(random.skewed(400), () => this.#sendPart(planned, to))
      return
    }
    this.#isAnswerGiven = true
    this.#finish(planned)
  }

  #finish(planned: PlannedAnswer): void {
    const { ending } = planned
    if (ending === 'stay' || ending === 'silence') return
    const { random, time } = this.#around
    if (random.chance(0.5)) this.#end(ending)
    else {
      time.after(random.skewed(2_000), () => {
        if (this.#planned === planned) this.#end(ending)
        else this.#leave()
      })
    }
  }

  /** Leaves at any time, but not so that a part of an answer would look like the whole. */
  #leave(): void {
    const isUntilClose = this.#planned?.isUntilClose === true
    this.#end(isUntilClose ? 'reset' : this.#around.random.pick(['fin', 'close', 'reset'] as const))
  }

  #end(how: 'fin' | 'close' | 'reset'): void {
    if (how === 'fin') {
      this.#transport.peerEnds()
      return
    }
    this.#isGone = true
    this.#reader.stop()
    if (how === 'close') this.#transport.peerCloses()
    else this.#transport.peerResets(this.#around.random.pick(['ECONNRESET', 'ETIMEDOUT']))
  }
}

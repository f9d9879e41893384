/** The requests of a plan as the bytes that go out, and which of them is next. Hot: next. */
import type { LoadPlan, LoadRequest } from '../load-plan.ts'

export interface PreparedRequest {
  readonly bytes: Buffer
  readonly target: number
}

export class RequestList {
  readonly #requests: readonly PreparedRequest[]
  /** State of Marsaglia's xorshift32, never 0; undefined: the requests are taken in turn. */
  #random: number | undefined
  #turn = 0

  constructor({ requests, seed, isConnectionPerRequest }: LoadPlan) {
    this.#requests = requests.map((request) => ({
      bytes: bytesOf(request, isConnectionPerRequest),
      target: request.target ?? 0,
    }))
    this.#random = seed === undefined ? undefined : seed | 0 || 1
  }

  next(): PreparedRequest {
    const index = this.#random === undefined ? this.#inTurn() : this.#atRandom()
    const request = this.#requests[index]
    if (request === undefined) throw new Error('a plan has at least one request')
    return request
  }

  #inTurn(): number {
    const index = this.#turn
    this.#turn = index + 1 === this.#requests.length ? 0 : index + 1
    return index
  }

  #atRandom(): number {
    let state = this.#random ?? 0
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    this.#random = state
    return (state >>> 0) % this.#requests.length
  }
}

function bytesOf(request: LoadRequest, isConnectionPerRequest: boolean): Buffer {
  const body = Buffer.from(request.body ?? '')
  const hasLength = request.method === 'POST' || body.length > 0
  const lines = [
    `${request.method} ${request.path} HTTP/1.1`,
    `Host: ${request.host}`,
    ...Object.entries(request.fields ?? {}).map(([name, value]) => `${name}: ${value}`),
    ...(isConnectionPerRequest ? ['Connection: close'] : []),
    ...(hasLength ? [`Content-Length: ${body.length}`] : []),
  ]
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), body])
}

/** An origin of ours that keeps what it was asked, byte for byte as fields, and how many connections were opened. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'

const BODY = 'x'.repeat(1_024)
const REQUESTS_KEPT_MAX = 100

export type Field = readonly [name: string, value: string]

export interface CapturedRequest {
  readonly method: string
  readonly path: string
  readonly httpVersion: string
  readonly fields: readonly Field[]
}

/** Of each answer, in this order; what else a client sees was added on the way. */
export const ANSWER_FIELDS: readonly Field[] = [
  ['Content-Type', 'text/plain'],
  ['Content-Length', String(BODY.length)],
  ['ETag', '"692bf780-400"'],
  ['X-Origin', 'capturing'],
]

export class CapturingOrigin {
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  readonly #requests: CapturedRequest[] = []
  #count = 0
  #connections = 0

  static async open(): Promise<CapturingOrigin> {
    const origin = new CapturingOrigin()
    origin.#server.listen(0, '127.0.0.1')
    await once(origin.#server, 'listening')
    return origin
  }

  private constructor() {
    this.#server = createServer((request, response) => this.#answer(request, response))
    // A proxy's kept connections end with the proxy, not here.
    this.#server.keepAliveTimeout = 0
    this.#server.on('connection', (socket) => {
      this.#connections += 1
      this.#sockets.add(socket)
      socket.on('error', () => socket.destroy())
      socket.on('close', () => this.#sockets.delete(socket))
    })
  }

  get address(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  get requests(): number {
    return this.#count
  }

  get connections(): number {
    return this.#connections
  }

  /** The last request for the path. */
  captured(path: string): CapturedRequest | undefined {
    return this.#requests.findLast((request) => request.path === path)
  }

  async close(): Promise<void> {
    this.#server.close()
    for (const socket of this.#sockets) socket.destroy()
    await once(this.#server, 'close')
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    this.#count += 1
    const { method = '', url = '', httpVersion, rawHeaders } = request
    this.#requests.push({ method, path: url, httpVersion, fields: pairs(rawHeaders) })
    if (this.#requests.length > REQUESTS_KEPT_MAX) this.#requests.shift()
    request.resume()
    response.sendDate = true
    response.writeHead(200, [...ANSWER_FIELDS.flat()])
    response.end(BODY)
  }
}

/** Names and values in turn → pairs. */
export function pairs(raw: readonly string[]): Field[] {
  return Array.from({ length: raw.length / 2 }, (_, index): Field => {
    return [raw[2 * index] ?? '', raw[2 * index + 1] ?? '']
  })
}

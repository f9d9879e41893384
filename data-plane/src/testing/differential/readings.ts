/** One request's head as this proxy and as node:http read it. */
import { createServer, type IncomingMessage, type Server } from 'node:http'
import { Duplex } from 'node:stream'
import { Request } from '../../worker/exchange/request.ts'
import { BodyLength } from '../../worker/http1/framing.ts'
import { HeadParser, INCOMPLETE } from '../../worker/http1/head-parser.ts'

export type Reading =
  | { readonly kind: 'incomplete' }
  /** `reason`: a status of ours, or a code of Node's. */
  | { readonly kind: 'refused'; readonly reason: string }
  | Accepted

export interface Accepted {
  readonly kind: 'accepted'
  readonly method: string
  readonly target: string
  readonly version: string
  /** "name: value" in lower case and without white space around, in order. */
  readonly fields: readonly string[]
  readonly framing: string
}

const PEER = { address: '192.0.2.1', trustedPeers: undefined, scheme: 'http' } as const
const head = new HeadParser()
const request = new Request()

export function ourReading(bytes: Buffer): Reading {
  const end = head.parseRequest(bytes, 0, bytes.length)
  if (end === INCOMPLETE) return { kind: 'incomplete' }
  if (end < 0) return { kind: 'refused', reason: String(-end) }
  const status = request.read(head, bytes, 0, end, PEER)
  if (status !== 0) return { kind: 'refused', reason: String(status) }
  const part = (from: number | undefined, to: number | undefined) =>
    bytes.toString('latin1', from, to)
  const fields: string[] = []
  for (let index = 0; index < head.fieldCount; index += 1) {
    const name = part(head.nameStarts[index], head.nameEnds[index])
    fields.push(fieldText(name, part(head.valueStarts[index], head.valueEnds[index])))
  }
  return {
    kind: 'accepted',
    method: request.method,
    target: part(head.targetStart, head.targetEnd),
    version: `1.${head.minorVersion}`,
    fields,
    framing: ourFraming(),
  }
}

function ourFraming(): string {
  if (head.bodyLength === BodyLength.CHUNKED) return 'chunked'
  return head.bodyLength === BodyLength.LENGTH ? String(head.contentLength) : '0'
}

/** node:http's server in its strict mode, fed without a socket. */
export class NodeReader {
  readonly #server: Server
  #reading: Reading = { kind: 'incomplete' }

  constructor() {
    const take = (message: IncomingMessage) => this.#take(message)
    this.#server = createServer({ insecureHTTPParser: false, maxHeaderSize: 65_536 }, take)
    this.#server.on('checkContinue', take)
    this.#server.on('checkExpectation', take)
    this.#server.on('connect', take)
    this.#server.on('clientError', (error: NodeJS.ErrnoException) => {
      this.#refuse(error.code ?? error.message)
    })
  }

  read(bytes: Buffer): Reading {
    this.#reading = { kind: 'incomplete' }
    const socket = new Duplex({
      read() {},
      write: (chunk: Buffer, _encoding, done) => {
        const answer = /^HTTP\/1\.1 (\d+)/.exec(chunk.toString('latin1'))
        if (answer !== null) this.#refuse(answer[1] ?? '')
        done()
      },
    })
    socket.on('error', () => {})
    this.#server.emit('connection', socket)
    socket.emit('data', bytes)
    socket.destroy()
    return this.#reading
  }

  #refuse(reason: string): void {
    if (this.#reading.kind === 'incomplete') this.#reading = { kind: 'refused', reason }
  }

  #take(message: IncomingMessage): void {
    if (this.#reading.kind !== 'incomplete') return
    const fields: string[] = []
    for (let index = 0; index < message.rawHeaders.length; index += 2) {
      fields.push(fieldText(message.rawHeaders[index] ?? '', message.rawHeaders[index + 1] ?? ''))
    }
    const { 'transfer-encoding': codings, 'content-length': length } = message.headers
    this.#reading = {
      kind: 'accepted',
      method: message.method ?? '',
      target: message.url ?? '',
      version: message.httpVersion,
      fields,
      framing: codings === undefined ? String(Number(length ?? 0)) : 'chunked',
    }
  }
}

function fieldText(name: string, value: string): string {
  return `${name.toLowerCase()}: ${value.replace(/^[\t ]+|[\t ]+$/g, '')}`
}

/**
 * The way of an answer to its client: in the form that the client understands, through the output buffer, and
 * with back-pressure. One for each client connection. Hot.
 */
import { BodyLength } from '../http1/framing.ts'
import type { HeadParser } from '../http1/head-parser.ts'
import { ENDING_IN_ANSWERS, fieldValue, keptFields } from '../http1/kept-fields.ts'
import type { OutputBuffer } from '../http1/output-buffer.ts'
import { keptTrailers } from '../http1/trailers.ts'
import type { Transport } from '../transport/transport.ts'
import { type OwnStatus, ownAnswer } from './own-answers.ts'
import type { Request } from './request.ts'

export interface BehindListener {
  /** The client does not take what was written for now; onWritable of its transport says when it has. */
  onBehind(): void
}

export class AnswerWriter {
  /** Nothing may follow the running answer on its connection. */
  isLast = false
  /** What was written waits in the transport. */
  isBehind = false
  /** Bytes of the running exchange's answer. */
  byteCount = 0
  readonly #output: OutputBuffer
  readonly #listener: BehindListener
  #transport: Transport | undefined
  #body: BodyLength = BodyLength.NONE

  constructor(output: OutputBuffer, listener: BehindListener) {
    this.#output = output
    this.#listener = listener
  }

  /** undefined: the connection is over, and what is written goes nowhere. */
  attach(transport: Transport | undefined): void {
    this.#transport = transport
  }

  /** The client finds the end of the running answer only by the connection's end. */
  get endsWithConnection(): boolean {
    return this.#body === BodyLength.UNTIL_CLOSE
  }

  /** A 1xx answer; HTTP/1.0 clients know none. */
  interim(head: HeadParser, bytes: Buffer, from: number, to: number, request: Request): void {
    if (request.minorVersion === 0) return
    const text = bytes.toString('latin1', from, to)
    const fields = keptFields(head, text, from, ENDING_IN_ANSWERS)
    this.#output.text(`HTTP/1.1 ${statusLine(head, text, from)}\r\n${fields}\r\n`)
    this.flush()
  }

  /**
   * The final answer's head in bytes[from..to), with our own framing. `body`: how its end is found on the
   * server's side. `mustBeLast`: the connection cannot go on after it.
   */
  head(
    head: HeadParser,
    bytes: Buffer,
    from: number,
    to: number,
    body: BodyLength,
    request: Request,
    mustBeLast: boolean,
  ): void {
    const isOld = request.minorVersion === 0
    this.#body = bodyForClient(body, isOld)
    this.isLast = mustBeLast || !request.wantsKeepAlive || this.endsWithConnection
    const text = bytes.toString('latin1', from, to)
    const fields = keptFields(head, text, from, ENDING_IN_ANSWERS)
    this.#output.text(
      `HTTP/1.1 ${statusLine(head, text, from)}\r\n${fields}${this.#lengthLine(head)}${connectionLine(isOld, this.isLast)}\r\n`,
    )
  }

  /** The head of a 101: from here on the connection speaks another protocol. */
  switching(head: HeadParser, bytes: Buffer, from: number, to: number): void {
    const text = bytes.toString('latin1', from, to)
    const fields = keptFields(head, text, from, ENDING_IN_ANSWERS)
    const protocol = fieldValue(head, text, from, head.upgradeIndex)
    this.#body = BodyLength.UNTIL_CLOSE
    this.#output.text(
      `HTTP/1.1 ${statusLine(head, text, from)}\r\n${fields}Connection: upgrade\r\nUpgrade: ${protocol}\r\n\r\n`,
    )
    this.flush()
  }

  body(bytes: Buffer, from: number, to: number): void {
    if (!this.#output.hasRoom(to - from)) this.flush()
    if (this.#body === BodyLength.CHUNKED) this.#output.chunk(bytes, from, to)
    else this.#output.copy(bytes, from, to)
  }

  /** `trailers`: the lines that came with a chunked body; for clients that asked for them. */
  end(trailers: string, request: Request): void {
    if (this.#body === BodyLength.CHUNKED) {
      this.#output.lastChunk(request.acceptsTrailers ? keptTrailers(trailers) : '')
    }
    this.flush()
  }

  /** An answer that the node gives itself. */
  own(status: OwnStatus, request: Request, isLast: boolean): void {
    this.#body = BodyLength.NONE
    this.isLast = isLast
    const line = connectionLine(request.minorVersion === 0, isLast)
    this.#output.text(ownAnswer(status, line, request.isHead))
    this.flush()
  }

  /** Sends what the output buffer holds. False: the client is behind. */
  flush(): boolean {
    if (this.#transport === undefined) {
      this.#output.discard()
      return true
    }
    this.byteCount += this.#output.length
    if (!this.#output.flush(this.#transport)) {
      this.isBehind = true
      this.#listener.onBehind()
    }
    return !this.isBehind
  }

  #lengthLine(head: HeadParser): string {
    if (this.#body === BodyLength.CHUNKED) return 'Transfer-Encoding: chunked\r\n'
    const isWithoutLength = head.contentLength < 0 || head.status === 204
    return isWithoutLength ? '' : `Content-Length: ${head.contentLength}\r\n`
  }
}

/** HTTP/1.0 knows no chunks, and HTTP/1.1 clients get chunks rather than lose their connection. */
function bodyForClient(body: BodyLength, isOld: boolean): BodyLength {
  if (body === BodyLength.UNTIL_CLOSE && !isOld) return BodyLength.CHUNKED
  return body === BodyLength.CHUNKED && isOld ? BodyLength.UNTIL_CLOSE : body
}

function connectionLine(isOld: boolean, isLast: boolean): string {
  if (isLast) return 'Connection: close\r\n'
  return isOld ? 'Connection: keep-alive\r\n' : ''
}

/** "200 OK" */
function statusLine(head: HeadParser, text: string, base: number): string {
  return `${head.status} ${text.slice(head.reasonStart - base, head.reasonEnd - base)}`
}

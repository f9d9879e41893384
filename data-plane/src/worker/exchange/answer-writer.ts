/** Puts an answer into the output buffer in the form that its client understands. Hot. */
import { BodyLength } from '../http1/framing.ts'
import type { HeadParser } from '../http1/head-parser.ts'
import { ENDING_IN_ANSWERS, keptFields } from '../http1/kept-fields.ts'
import type { OutputBuffer } from '../http1/output-buffer.ts'
import { type OwnStatus, ownAnswer } from './own-answers.ts'

export class AnswerWriter {
  readonly #output: OutputBuffer
  #body: BodyLength = BodyLength.NONE

  constructor(output: OutputBuffer) {
    this.#output = output
  }

  /** The client finds the end of the running answer only by the connection's end. */
  get endsWithConnection(): boolean {
    return this.#body === BodyLength.UNTIL_CLOSE
  }

  /**
   * Settles how the client will find the body's end, by how the server's side does: HTTP/1.0 knows no chunks,
   * and HTTP/1.1 clients get chunks rather than lose their connection.
   */
  begin(body: BodyLength, isOld: boolean): void {
    this.#body = body
    if (body === BodyLength.UNTIL_CLOSE && !isOld) this.#body = BodyLength.CHUNKED
    if (body === BodyLength.CHUNKED && isOld) this.#body = BodyLength.UNTIL_CLOSE
  }

  /** The head in bytes[from..to), with our own framing. */
  head(
    head: HeadParser,
    bytes: Buffer,
    from: number,
    to: number,
    isOld: boolean,
    isLast: boolean,
  ): void {
    const text = bytes.toString('latin1', from, to)
    const fields = keptFields(head, text, from, ENDING_IN_ANSWERS)
    this.#output.text(
      `HTTP/1.1 ${statusLine(head, text, from)}\r\n${fields}${this.#lengthLine(head)}${connectionLine(isOld, isLast)}\r\n`,
    )
  }

  interim(head: HeadParser, bytes: Buffer, from: number, to: number): void {
    const text = bytes.toString('latin1', from, to)
    const fields = keptFields(head, text, from, ENDING_IN_ANSWERS)
    this.#output.text(`HTTP/1.1 ${statusLine(head, text, from)}\r\n${fields}\r\n`)
  }

  body(bytes: Buffer, from: number, to: number): void {
    if (this.#body === BodyLength.CHUNKED) this.#output.chunk(bytes, from, to)
    else this.#output.copy(bytes, from, to)
  }

  end(): void {
    if (this.#body === BodyLength.CHUNKED) this.#output.lastChunk()
  }

  own(status: OwnStatus, isHead: boolean, isOld: boolean, isLast: boolean): void {
    this.#body = BodyLength.NONE
    this.#output.text(ownAnswer(status, connectionLine(isOld, isLast), isHead))
  }

  #lengthLine(head: HeadParser): string {
    if (this.#body === BodyLength.CHUNKED) return 'Transfer-Encoding: chunked\r\n'
    const isWithoutLength = head.contentLength < 0 || head.status === 204
    return isWithoutLength ? '' : `Content-Length: ${head.contentLength}\r\n`
  }
}

function connectionLine(isOld: boolean, isLast: boolean): string {
  if (isLast) return 'Connection: close\r\n'
  return isOld ? 'Connection: keep-alive\r\n' : ''
}

/** "200 OK" */
function statusLine(head: HeadParser, text: string, base: number): string {
  return `${head.status} ${text.slice(head.reasonStart - base, head.reasonEnd - base)}`
}

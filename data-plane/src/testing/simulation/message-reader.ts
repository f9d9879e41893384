/**
 * A second reading of HTTP/1.1, as plain and strict as can be and sharing nothing with the engine: what the
 * engine sends must be understood by it in exactly one way.
 */
import { demand } from './fault.ts'

export type Field = readonly [name: string, value: string]

export interface Head {
  readonly startLine: string
  readonly fields: readonly Field[]
}

export type Framing =
  | { readonly kind: 'none' }
  | { readonly kind: 'length'; readonly length: number }
  | { readonly kind: 'chunked' }
  | { readonly kind: 'until-close' }

export interface MessageListener {
  /** How the body that follows the head is framed; undefined: another head follows (1xx). */
  onHead(head: Head): Framing | undefined
  onBody(text: string): void
  /** The message is whole. `trailers`: the lines after the last chunk, each with its CRLF. */
  onMessageEnd(trailers: string): void
}

type State = 'head' | 'length' | 'chunk-size' | 'chunk' | 'chunk-end' | 'until-close'

export class MessageReader {
  readonly #listener: MessageListener
  #rest = ''
  #state: State = 'head'
  #remaining = 0
  #isStopped = false

  constructor(listener: MessageListener) {
    this.#listener = listener
  }

  /** Bytes of a message that is not whole are there. */
  get isInMessage(): boolean {
    return this.#state !== 'head' || this.#rest !== ''
  }

  get isUntilClose(): boolean {
    return this.#state === 'until-close'
  }

  /** Takes nothing any more. */
  stop(): void {
    this.#isStopped = true
  }

  take(bytes: Buffer): void {
    this.#rest += bytes.toString('latin1')
    while (!this.#isStopped && this.#step()) {}
  }

  /** False: more bytes are needed. */
  #step(): boolean {
    switch (this.#state) {
      case 'head':
        return this.#takeHead()
      case 'length':
      case 'chunk':
        return this.#takeCounted()
      case 'chunk-size':
        return this.#takeChunkSize()
      case 'chunk-end':
        return this.#takeChunkEnd()
      case 'until-close':
        if (this.#rest !== '') this.#listener.onBody(this.#cut(this.#rest.length))
        return false
    }
  }

  #takeHead(): boolean {
    const end = this.#rest.indexOf('\r\n\r\n')
    if (end === -1) {
      demand(this.#rest.length < 65_536, () => 'a head has no end')
      return false
    }
    const framing = this.#listener.onHead(parseHead(this.#cut(end + 4)))
    if (framing === undefined) return true
    switch (framing.kind) {
      case 'none':
        this.#end()
        return true
      case 'length':
        this.#state = 'length'
        this.#remaining = framing.length
        if (framing.length === 0) this.#end()
        return true
      case 'chunked':
        this.#state = 'chunk-size'
        return true
      case 'until-close':
        this.#state = 'until-close'
        return true
    }
  }

  #takeCounted(): boolean {
    if (this.#rest === '') return false
    const part = this.#cut(Math.min(this.#remaining, this.#rest.length))
    this.#remaining -= part.length
    this.#listener.onBody(part)
    if (this.#remaining > 0) return false
    if (this.#state === 'length') this.#end()
    else this.#state = 'chunk-end'
    return true
  }

  #takeChunkSize(): boolean {
    const end = this.#rest.indexOf('\r\n')
    if (end === -1) {
      demand(/^[0-9a-f]{0,8}\r?$/.test(this.#rest), () => `no chunk size: ${quote(this.#rest)}`)
      return false
    }
    const line = this.#rest.slice(0, end)
    demand(/^[0-9a-f]{1,8}$/.test(line), () => `no chunk size: ${quote(line)}`)
    this.#remaining = Number.parseInt(line, 16)
    if (this.#remaining > 0) {
      this.#cut(end + 2)
      this.#state = 'chunk'
      return true
    }
    // The empty line's CRLF is the one right after the size where there are no trailers.
    const last = this.#rest.indexOf('\r\n\r\n', end)
    if (last === -1) return false
    const section = this.#cut(last + 4).slice(end, -2)
    const trailers = section.slice(2)
    for (const text of trailers.split('\r\n').slice(0, -1)) parseField(text)
    this.#end(trailers)
    return true
  }

  #takeChunkEnd(): boolean {
    if (this.#rest.length < 2) return false
    demand(this.#cut(2) === '\r\n', () => 'a chunk is longer than it says')
    this.#state = 'chunk-size'
    return true
  }

  #end(trailers = ''): void {
    this.#state = 'head'
    this.#listener.onMessageEnd(trailers)
  }

  #cut(length: number): string {
    const part = this.#rest.slice(0, length)
    this.#rest = this.#rest.slice(length)
    return part
  }
}

const FIELD_LINE = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+):[ \t]*([\t\x20-\x7e\x80-\xff]*?)[ \t]*$/

function parseHead(text: string): Head {
  const [startLine = '', ...lines] = text.slice(0, -4).split('\r\n')
  return { startLine, fields: lines.map(parseField) }
}

function parseField(line: string): Field {
  const match = FIELD_LINE.exec(line)
  demand(match !== null, () => `no field line: ${quote(line)}`)
  return [(match[1] ?? '').toLowerCase(), match[2] ?? '']
}

/** All values of a field. */
export function valuesOf({ fields }: Head, name: string): string[] {
  return fields.filter(([one]) => one === name).map(([, value]) => value)
}

/** The framing that the fields alone say; undefined: none. Two framings are a fault. */
export function framingOf(head: Head): Framing | undefined {
  const lengths = valuesOf(head, 'content-length')
  const codings = valuesOf(head, 'transfer-encoding')
  demand(lengths.length + codings.length <= 1, () => `two framings after ${head.startLine}`)
  const [length] = lengths
  if (length !== undefined) {
    demand(/^(0|[1-9]\d*)$/.test(length), () => `Content-Length: ${length}`)
    return { kind: 'length', length: Number(length) }
  }
  if (codings.length === 0) return undefined
  demand(codings[0] === 'chunked', () => `Transfer-Encoding: ${codings[0]}`)
  return { kind: 'chunked' }
}

export function quote(text: string): string {
  return JSON.stringify(text.length > 120 ? `${text.slice(0, 120)}…` : text)
}

/**
 * HTTP/1.1 messages cut out of recorded bytes, in the plainest way. It is lenient on purpose: it shows
 * what a careless peer would understand.
 */

export type Field = readonly [name: string, value: string]

export interface Message {
  readonly startLine: string
  readonly fields: readonly Field[]
  /** The body without its framing. */
  readonly body: Buffer
  /** All bytes of the message, framing included. */
  readonly bytes: Buffer
  readonly framing: 'none' | 'length' | 'chunked' | 'close'
}

/** What is known about a message from elsewhere. */
export interface Reading {
  readonly kind: 'request' | 'answer'
  /** An answer to HEAD: no body follows, whatever the head says. */
  readonly isBodiless?: boolean
  /** The sender has closed: a body without a length is complete. */
  readonly isEnded?: boolean
}

/** The message at the start of `bytes`, or undefined while it is incomplete. */
export function messageAt(bytes: Buffer, reading: Reading): Message | undefined {
  const headEnd = bytes.indexOf('\r\n\r\n')
  if (headEnd < 0) return undefined
  const [startLine = '', ...lines] = bytes.toString('latin1', 0, headEnd).split('\r\n')
  const fields = lines.map(fieldOf)
  const from = headEnd + 4
  const framing = framingOf(startLine, fields, reading)
  const body = bodyAt(bytes, from, framing, fields, reading)
  if (body === undefined) return undefined
  return { startLine, fields, framing, body: body.content, bytes: bytes.subarray(0, body.end) }
}

/** All values of a field. */
export function valuesOf(message: Pick<Message, 'fields'>, name: string): string[] {
  return message.fields.filter(([key]) => key.toLowerCase() === name).map(([, value]) => value)
}

export function statusOf(message: Pick<Message, 'startLine'>): number {
  return Number(message.startLine.split(' ')[1])
}

/** `text` in chunks of at most `size` characters, with the last chunk. */
export function chunked(text: string, size = 5): string {
  const chunks = text.match(new RegExp(`[\\s\\S]{1,${size}}`, 'g')) ?? []
  return `${chunks.map((one) => `${one.length.toString(16)}\r\n${one}\r\n`).join('')}0\r\n\r\n`
}

function fieldOf(line: string): Field {
  const colon = line.indexOf(':')
  return [line.slice(0, colon), line.slice(colon + 1).trim()]
}

function framingOf(
  startLine: string,
  fields: readonly Field[],
  reading: Reading,
): Message['framing'] {
  if (reading.isBodiless === true) return 'none'
  const status = reading.kind === 'answer' ? statusOf({ startLine }) : 0
  if (status === 204 || status === 304 || (status >= 100 && status < 200)) return 'none'
  if (valuesOf({ fields }, 'transfer-encoding').some((value) => /chunked/i.test(value)))
    return 'chunked'
  if (valuesOf({ fields }, 'content-length').length > 0) return 'length'
  return reading.kind === 'request' ? 'none' : 'close'
}

interface Body {
  readonly content: Buffer
  readonly end: number
}

function bodyAt(
  bytes: Buffer,
  from: number,
  framing: Message['framing'],
  fields: readonly Field[],
  reading: Reading,
): Body | undefined {
  switch (framing) {
    case 'none':
      return { content: Buffer.alloc(0), end: from }
    case 'length': {
      const end = from + Number(valuesOf({ fields }, 'content-length')[0])
      return bytes.length < end ? undefined : { content: bytes.subarray(from, end), end }
    }
    case 'chunked':
      return chunksAt(bytes, from)
    case 'close':
      if (reading.isEnded !== true) return undefined
      return { content: bytes.subarray(from), end: bytes.length }
  }
}

function chunksAt(bytes: Buffer, from: number): Body | undefined {
  const parts: Buffer[] = []
  for (let at = from; ; ) {
    const lineEnd = bytes.indexOf('\r\n', at)
    if (lineEnd < 0) return undefined
    const size = Number.parseInt(bytes.toString('latin1', at, lineEnd), 16)
    if (Number.isNaN(size))
      throw new Error(`no chunk size: ${bytes.toString('latin1', at, lineEnd)}`)
    if (size === 0) {
      const end = trailersEnd(bytes, lineEnd)
      return end === undefined ? undefined : { content: Buffer.concat(parts), end }
    }
    const end = lineEnd + 2 + size
    if (bytes.length < end + 2) return undefined
    parts.push(bytes.subarray(lineEnd + 2, end))
    at = end + 2
  }
}

function trailersEnd(bytes: Buffer, lineEnd: number): number | undefined {
  if (bytes.toString('latin1', lineEnd, lineEnd + 4) === '\r\n\r\n') return lineEnd + 4
  const end = bytes.indexOf('\r\n\r\n', lineEnd + 2)
  return end < 0 ? undefined : end + 4
}

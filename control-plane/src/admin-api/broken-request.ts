/** The answer to bytes that are not an HTTP request, which never get as far as a route. */
import type { Socket } from 'node:net'
import { problemMediaType } from './problem-details.ts'

const answers: Readonly<Record<string, { status: string; detail: string }>> = {
  HPE_HEADER_OVERFLOW: {
    status: '431 Request Header Fields Too Large',
    detail: 'the head of the request is too large',
  },
  ERR_HTTP_REQUEST_TIMEOUT: {
    status: '408 Request Timeout',
    detail: 'the request took too long to arrive',
  },
}
const malformed = { status: '400 Bad Request', detail: 'the bytes are not an HTTP request' }

export function answerBrokenConnection(error: { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const { status, detail } = answers[error.code ?? ''] ?? malformed
  const [code, ...title] = status.split(' ')
  const body = JSON.stringify({
    type: 'urn:sluice:problem:malformed-request',
    title: title.join(' '),
    status: Number(code),
    detail,
  })
  const head = [
    `HTTP/1.1 ${status}`,
    `content-type: ${problemMediaType}`,
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`)
}

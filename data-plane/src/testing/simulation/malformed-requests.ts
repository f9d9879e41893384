/** Requests that must be refused: by their head, so that no byte goes on, or in their body. */
import { limits } from '../../limits.ts'

const withLines =
  (lines: string, body = '') =>
  (id: string) =>
    `POST /e/${id} HTTP/1.1\r\nHost: a.test\r\n${lines}\r\n\r\n${body}`

const withStart = (start: (id: string) => string) => (id: string) =>
  `${start(id)}\r\nHost: a.test\r\n\r\n`

/** By the request's id. */
export const MALFORMED_HEADS: readonly ((id: string) => string)[] = [
  withLines('Content-Length: 6\r\nTransfer-Encoding: chunked', '0\r\n\r\nX'),
  withLines('Transfer-Encoding: chunked\r\nContent-Length: 6', '0\r\n\r\nX'),
  withLines('Transfer-Encoding: chunked, chunked', '0\r\n\r\n'),
  withLines('Transfer-Encoding: xchunked', '0\r\n\r\n'),
  withLines('Transfer-Encoding: gzip, chunked', '0\r\n\r\n'),
  withLines('Transfer-Encoding : chunked', '0\r\n\r\n'),
  withLines('Content-Length: 5\r\nContent-Length: 6', 'hello!'),
  withLines('Content-Length: +5', 'hello'),
  withLines('Content-Length:\r\n 5', 'hello'),
  withLines('X: a\rb'),
  withLines('X: a\0b'),
  withLines('X: 1\n\nGET /e/smuggled HTTP/1.1\r\nHost: a.test'),
  withLines('Host: a.test'),
  withLines('NoColonHere'),
  withLines(`X: ${'a'.repeat(limits.headBytesMax)}`),
  withLines('X: 1\r\n'.repeat(limits.fieldsMax).trimEnd()),
  withStart((id) => `GET /e/${id} HTTP/2.0`),
  withStart((id) => `GET /e/${id}#f HTTP/1.1`),
  withStart((id) => `GET /../e/${id} HTTP/1.1`),
  withStart((id) => `GET /e/${id}/%zz HTTP/1.1`),
  withStart((id) => `GET e/${id} HTTP/1.1`),
  withStart((id) => `HEAD /e/${id}%00 HTTP/1.1`),
  withStart((id) => `G=ET /e/${id} HTTP/1.1`),
  withStart((id) => `CONNECT a.test:80?/e/${id} HTTP/1.1`),
  withStart((id) => `GET /e/${id}?${'q'.repeat(limits.requestLineBytesMax)} HTTP/1.1`),
  (id) => `GET /e/${id} HTTP/1.1\r\n\r\n`,
  (id) => `GET /e/${id} HTTP/1.1\nHost: a.test\n\n`,
  (id) => `POST /e/${id} HTTP/1.0\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
]

/** By the body as it would be right. */
export const MALFORMED_BODIES: readonly ((chunks: string) => string)[] = [
  (chunks) => chunks.replace('\r\n', '\n'),
  (chunks) => `${chunks.slice(0, -5)}0x0\r\n\r\n`,
  (chunks) => `${chunks.slice(0, -5)}5\r\nhello!\r\n0\r\n\r\n`,
  (chunks) => `${chunks.slice(0, -5)}10000000000000005\r\nhello\r\n0\r\n\r\n`,
  (chunks) => `${chunks.slice(0, -5)}-5\r\nhello\r\n0\r\n\r\n`,
  (chunks) => `${chunks.slice(0, -5)}0\r\n folded\r\n\r\n`,
  (chunks) => `${chunks.slice(0, -2)}\n`,
]

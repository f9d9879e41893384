/** What fuzzed inputs begin with, and the pieces that they are changed with. */
import { limits } from '../../limits.ts'

const request = (lines: string, start = 'POST /e HTTP/1.1') =>
  `${start}\r\nHost: a.test\r\n${lines}\r\n`

export const REQUESTS: readonly string[] = [
  request('', 'GET / HTTP/1.1'),
  request('', 'OPTIONS * HTTP/1.1'),
  request('', 'GET http://b.test:8080/a/../b?c=%20 HTTP/1.1'),
  request('Connection: keep-alive, x-hop\r\nX-Hop: 1\r\n', 'GET /%7euser/./x;y HTTP/1.0'),
  request('Content-Length: 10\r\n'),
  request('Transfer-Encoding: chunked\r\nTrailer: X\r\n'),
  request('Content-Length: 5\r\nTransfer-Encoding: chunked\r\n'),
  request('Transfer-Encoding: gzip, chunked\r\n'),
  request('Expect: 100-continue\r\nContent-Length: 0\r\nUser-Agent: x\r\n'),
  request('X-Forwarded-For: 1.2.3.4, ::1\r\nX-Forwarded-For: 5.6.7.8\r\nForwarded: for=x\r\n'),
  request('Upgrade: websocket\r\nConnection: upgrade\r\nCookie: a=b\r\nTE: trailers\r\n'),
  '\r\nGET / HTTP/1.1\r\nhost:[::1]:80\r\n\r\n',
  'GET / HTTP/1.0\r\n\r\n',
  request('X-Fill: 1\r\n'.repeat(limits.fieldsMax - 2)),
  request(`X-Long: ${'v'.repeat(limits.headBytesMax - 200)}\r\n`),
  request('', `GET /${'p'.repeat(limits.requestLineBytesMax - 20)} HTTP/1.1`),
]

const answer = (lines: string, start = 'HTTP/1.1 200 OK') => `${start}\r\n${lines}\r\n`

export const ANSWERS: readonly string[] = [
  answer('Content-Length: 5\r\nDate: now\r\n'),
  answer('Transfer-Encoding: chunked\r\nConnection: close\r\n'),
  answer('Content-Length: 5\r\nTransfer-Encoding: chunked\r\n'),
  answer('', 'HTTP/1.1 204'),
  answer('', 'HTTP/1.0 304 '),
  answer('X-Latin: \xe9\xff\r\nKeep-Alive: timeout=5, max=3\r\n', 'HTTP/1.0 200 O\xe9 K'),
  answer('Connection: x-hop\r\nX-Hop: 1\r\n', 'HTTP/1.1 103 Early Hints'),
]

export const CHUNKS: readonly string[] = [
  '5\r\nhello\r\n0\r\n\r\n',
  '0\r\n\r\n',
  '0\r\nX-Trailer: 1\r\nY: 2\r\n\r\n',
  '000A;name=value;other="x"\r\n0123456789\r\n0\r\n\r\n',
  '1\r\na\r\n2\r\nbc\r\n3\r\ndef\r\n0;last\r\n\r\nGET / HTTP/1.1\r\n',
  `${'1'.repeat(limits.chunkSizeDigitsMax)}\r\nx`,
  `1;${'e'.repeat(limits.chunkLineBytesMax - 2)}\r\nx\r\n0\r\n\r\n`,
  `0\r\n${'T: 1\r\n'.repeat(100)}\r\n`,
]

/** Put in, or over what is there. */
export const PIECES: readonly string[] = [
  ...['\r', '\n', '\r\n', '\r\n\r\n', '\n\n', '\0', ' ', '\t', ':', ',', ';', '"', '\x0b', '\x7f'],
  ...['\x80', '\xff', '%', '%2e', '%00', '%2f', '..', '/', '\\', '#', '?', '@', '*', '[', ']'],
  ...['0', '1', 'a', 'F', '0x', '+', '-', '_', 'ffffffffffffffff', '18446744073709551617'],
  ...['chunked', ', chunked', 'gzip, ', 'identity', 'close', 'keep-alive', 'HTTP/1.1', 'HTTP/1.0'],
  'Content-Length: 5\r\n',
  'Content-Length: 6\r\n',
  'Content-Length:\r\n',
  'Transfer-Encoding: chunked\r\n',
  'Transfer-Encoding : chunked\r\n',
  'Transfer-Encoding:\r\n chunked\r\n',
  'Host: b.test\r\n',
  'Connection: host, content-length, transfer-encoding\r\n',
  '0\r\n\r\n',
  'GET /smuggled HTTP/1.1\r\nHost: a.test\r\n\r\n',
  'X'.repeat(300),
  'X: 1\r\n'.repeat(60),
]

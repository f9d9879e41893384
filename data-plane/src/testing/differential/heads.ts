/** Request heads that proxies have been fooled with, and some that are right. */
const lines = (text: string) => `POST /e HTTP/1.1\r\nHost: a.test\r\n${text}\r\n\r\n`
const start = (text: string) => `${text}\r\nHost: a.test\r\n\r\n`
const host = (value: string) => `GET / HTTP/1.1\r\nHost: ${value}\r\n\r\n`

const TRANSFER_CODINGS = [
  ...['chunked\t', ' chunked ', 'CHUNKED', ',chunked', 'chunked,', 'chunked, chunked'],
  ...['chunked, identity', 'chunked, gzip', 'gzip', 'xchunked', '"chunked"', '\x0bchunked'],
  ...['\xa0chunked', '', 'gzip, chunked', 'identity', 'chunked;q=1'],
]
const LENGTHS = [
  ...['5', '5, 5', '', '+5', '-1', '0x5', '5_0', '5 6', '5;', '18446744073709551621'],
  ...['0000000005', '1000000000000000', '010', ' 5\t', '5\x0b'],
]
const FIELD_LINES = [
  ...['Transfer-Encoding : chunked', 'Content-Length\t: 5', 'Content-Length:\r\n 5'],
  ...['X-A: b\r\n\tTransfer-Encoding: chunked', ': v', 'NoColonHere', 'Content-Length 5'],
  ...['Bad Name: v', 'X(: v', 'X\x85: v', 'X\0: v', 'X: a\0b', 'X: a\rb', 'X: 1\n\n', 'X:'],
  ...['X: \xe9\xff', 'X: a\x7fb', 'Expect: 100-continue', 'Expect: 200-ok', 'Connection: ,close,'],
  'Content-Length: 5\r\nContent-Length: 5',
  'Content-Length: 5\r\nContent-Length: 6',
  'Content-Length:\r\nContent-Length: 59',
  'Content-Length: 6\r\nTransfer-Encoding: chunked',
  'Transfer-Encoding: chunked\r\nContent-Length: 6',
  'Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked',
  'Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked',
  'Connection: Upgrade\r\nUpgrade: websocket',
]
const HOSTS = [
  ...['', 'a.test, b.test', 'a.test:70000', 'a.test:0', 'a.test:80:90', 'a.test/x', 'a test', '.'],
  ...['user@a.test', '[::1', 'A.TEST', 'a.test:', 'a.test.', '[::1]:8080', 'a.test\0.evil.test'],
]
const START_LINES = [
  ...['OPTIONS * HTTP/1.1', 'GET * HTTP/1.1', 'OPTIONS */x HTTP/1.1', 'GET admin HTTP/1.1'],
  ...['GET admin/a HTTP/1.1', 'GET a.test:80 HTTP/1.1', 'CONNECT / HTTP/1.1'],
  ...['CONNECT a.test HTTP/1.1', 'CONNECT a.test:80 HTTP/1.1', 'GET /a#frag HTTP/1.1'],
  ...['GET /\x02 HTTP/1.1', 'GET / / HTTP/1.1', 'GET /% HTTP/1.1', 'GET /%1 HTTP/1.1'],
  ...['GET / HTTP/1.32', 'GET / HTTP/2.0', 'GET / HTTP/0.9', 'GET /', 'G=ET / HTTP/1.1'],
  ...['FOO / HTTP/1.1', 'get / HTTP/1.1', 'GET  / HTTP/1.1', 'GET\t/ HTTP/1.1', 'GET / http/1.1'],
  ...['GET / HTTP/1.0', 'GET /../x HTTP/1.1', 'GET /a/..%2fb HTTP/1.1', 'GET /%00 HTTP/1.1'],
  ...['GET http://b.test/x HTTP/1.1', 'GET http:///x HTTP/1.1', 'GET ftp://b.test/ HTTP/1.1'],
  ...['\r\nGET / HTTP/1.1', '\r\n\r\nGET / HTTP/1.1', '\nGET / HTTP/1.1', ' GET / HTTP/1.1'],
]

export const HEADS: readonly string[] = [
  ...TRANSFER_CODINGS.map((value) => lines(`Transfer-Encoding: ${value}`)),
  ...TRANSFER_CODINGS.map((value) => lines(`Content-Length: 5\r\nTransfer-Encoding: ${value}`)),
  ...LENGTHS.map((value) => lines(`Content-Length: ${value}`)),
  ...FIELD_LINES.map(lines),
  ...HOSTS.map(host),
  ...START_LINES.map(start),
  'GET / HTTP/1.1\r\n\r\n',
  'GET / HTTP/1.1\r\n Host: a.test\r\n\r\n',
  'GET / HTTP/1.1\nHost: a.test\nX: 1\n\n',
  'GET / HTTP/1.1\r\nHost: a.test\nX: 1\r\n\r\n',
  'GET / HTTP/1.1\r\nHost: a.test\r\nHost: a.test\r\n\r\n',
  'GET / HTTP/1.1\r\nHost: a.test\r\nHost: b.test\r\n\r\n',
  'POST / HTTP/1.0\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n',
  'POST / HTTP/1.0\r\nHost: a.test\r\nConnection: keep-alive\r\n\r\n',
]

import { describe, expect, it } from 'vitest'
import { limits } from '../../limits.ts'
import { hashStep } from './field-names.ts'
import { BodyLength } from './framing.ts'
import { HeadParser, INCOMPLETE } from './head-parser.ts'

const parser = new HeadParser()

function parseRequest(text: string): number {
  const bytes = Buffer.from(text, 'latin1')
  return parser.parseRequest(bytes, 0, bytes.length)
}

function parseAnswer(text: string): number {
  const bytes = Buffer.from(text, 'latin1')
  return parser.parseAnswer(bytes, 0, bytes.length)
}

const get = (lines: string) => `GET / HTTP/1.1\r\nHost: a.test\r\n${lines}\r\n`
const post = (lines: string) => `POST / HTTP/1.1\r\nHost: a.test\r\n${lines}\r\n`

describe('HeadParser.parseRequest', () => {
  it('finds the end of a head and leaves what follows alone', () => {
    const head = get('X: 1\r\n')
    expect(parseRequest(`${head}GET /next`)).toBe(head.length)
    expect(parser.fieldCount).toBe(2)
  })

  it('gives the same result for every split into what is there and what is missing', () => {
    const head = '\r\nPOST /a?b HTTP/1.1\r\nHost: a.test\r\nContent-Length: 5\r\nX:\t v \r\n\r\n'
    for (let length = 0; length < head.length; length += 1) {
      expect(parseRequest(head.slice(0, length))).toBe(INCOMPLETE)
    }
    expect(parseRequest(head)).toBe(head.length)
  })

  it.each([
    ['a space before the version is missing', 'GET /HTTP/1.1\r\n\r\n'],
    ['HTTP/0.9', 'GET /\r\n\r\n'],
    ['a short word for a version', 'GET / HT\r\n\r\n'],
    ['a version that is cut off', 'GET / HTTP/1\r\n'],
    ['a minor version of two digits', 'GET / HTTP/1.32\r\n\r\n'],
    ['a minor version above 1', 'GET / HTTP/1.2\r\n\r\n'],
    ['a method that is no token', 'G=ET / HTTP/1.1\r\n\r\n'],
    ['a second space', 'GET / / HTTP/1.1\r\n\r\n'],
    ['a control byte in the target', 'GET /\x02 HTTP/1.1\r\n\r\n'],
    ['a fragment', 'GET /a#b HTTP/1.1\r\n\r\n'],
    ['a bare LF after the request line', 'GET / HTTP/1.1\nHost: a.test\n\n'],
    ['a bare LF after a field', 'GET / HTTP/1.1\r\nHost: a.test\nX: 1\r\n\r\n'],
    ['a bare LF as the empty line', 'GET / HTTP/1.1\r\nHost: a.test\r\nX:\n\nGET'],
    ['a bare CR in a value', get('X: a\rb\r\n')],
    ['a space before the colon', get('X : 1\r\n')],
    ['a tab before the colon', get('Content-Length\t: 5\r\n')],
    ['a line that begins with a space', 'GET / HTTP/1.1\r\n Host: a.test\r\n\r\n'],
    ['a folded line', get('X: a\r\n b\r\n')],
    ['an empty name', get(': v\r\n')],
    ['a line without a colon', get('NoColonHere\r\n')],
    ['a name with a bracket', get('X(: v\r\n')],
    ['a name beyond ASCII', get('X\x85: v\r\n')],
    ['a NUL in a name', get('X\0: v\r\n')],
    ['a NUL in a value', get('X: a\0b\r\n')],
    ['two Host lines', get('Host: a.test\r\n')],
    ['both lengths', post('Content-Length: 6\r\nTransfer-Encoding: chunked\r\n')],
    [
      'both lengths the other way round',
      post('Transfer-Encoding: chunked\r\nContent-Length: 6\r\n'),
    ],
    ['two equal lengths', post('Content-Length: 5\r\nContent-Length: 5\r\n')],
    ['two different lengths', post('Content-Length: 5\r\nContent-Length: 6\r\n')],
    ['a list of lengths', post('Content-Length: 5, 5\r\n')],
    ['an empty length', post('Content-Length:\r\n')],
    ['an empty first length', post('Content-Length:\r\nContent-Length: 59\r\n')],
    ['a signed length', post('Content-Length: +5\r\n')],
    ['a negative length', post('Content-Length: -1\r\n')],
    ['a hexadecimal length', post('Content-Length: 0x5\r\n')],
    ['a length with a mark', post('Content-Length: 5_0\r\n')],
    ['a length beyond 64 bits', post('Content-Length: 18446744073709551621\r\n')],
    ['chunked twice in a line', post('Transfer-Encoding: chunked, chunked\r\n')],
    [
      'chunked twice in two lines',
      post('Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n'),
    ],
    ['chunked not last', post('Transfer-Encoding: chunked, gzip\r\n')],
    ['a coding without chunked', post('Transfer-Encoding: gzip\r\n')],
    ['an empty element', post('Transfer-Encoding: ,chunked\r\n')],
    ['a word like chunked', post('Transfer-Encoding: xchunked\r\n')],
    ['chunked in quotes', post('Transfer-Encoding: "chunked"\r\n')],
    ['chunked after a control byte', post('Transfer-Encoding: \x0bchunked\r\n')],
    ['chunked after a hard space', post('Transfer-Encoding: \xa0chunked\r\n')],
    ['an empty coding', post('Transfer-Encoding:\r\n')],
    [
      'chunked in HTTP/1.0',
      'POST / HTTP/1.0\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n',
    ],
  ])('refuses %s with 400', (_name, head) => {
    expect(parseRequest(head)).toBe(-400)
  })

  it.each([
    ['another major version', 'GET / HTTP/2.0\r\n\r\n', -505],
    ['a coding that it does not undo', post('Transfer-Encoding: gzip, chunked\r\n'), -501],
    [
      'a long request line',
      `GET /${'a'.repeat(limits.requestLineBytesMax)} HTTP/1.1\r\n\r\n`,
      -414,
    ],
    ['a long request line without an end', `GET /${'a'.repeat(limits.requestLineBytesMax)}`, -414],
    ['a long field', get(`X: ${'a'.repeat(limits.headBytesMax)}\r\n`), -431],
    ['too many fields', get('X: 1\r\n'.repeat(limits.fieldsMax)), -431],
  ])('refuses %s with a status of its own', (_name, head, status) => {
    expect(parseRequest(head)).toBe(status)
  })

  it('judges a request line of the greatest length alike however it is split', () => {
    const line = `GET /${'a'.repeat(limits.requestLineBytesMax - 14)} HTTP/1.1\r\n`
    for (const length of [-3, -2, -1, 0]) {
      expect(parseRequest(line.slice(0, line.length + length))).toBe(INCOMPLETE)
    }
    expect(parseRequest(`${line}Host: a.test\r\n\r\n`)).toBeGreaterThan(0)
    const longer = line.replace('aa', 'aaa')
    expect(parseRequest(longer)).toBe(-414)
    expect(parseRequest(longer.replace(' HTTP/', 'aaaaaaaaaa\x02 HTTP/'))).toBe(-414)
  })

  it.each([
    ['tabs and spaces around', '\t chunked\t '],
    ['capitals', 'CHUNKED'],
  ])('takes chunked with %s for chunked', (_name, value) => {
    expect(parseRequest(post(`Transfer-Encoding: ${value}\r\n`))).toBeGreaterThan(0)
    expect(parser.bodyLength).toBe(BodyLength.CHUNKED)
  })

  it('reads leading zeros of a length as decimal', () => {
    expect(parseRequest(post('Content-Length: 010\r\n'))).toBeGreaterThan(0)
    expect(parser.contentLength).toBe(10)
  })

  it('skips one empty line before a request and refuses a second', () => {
    expect(parseRequest(`\r\n${get('')}`)).toBeGreaterThan(0)
    expect(parseRequest(`\r\n\r\n${get('')}`)).toBe(-400)
  })

  it('does not take a name that only shares the hash of a framing field for that field', () => {
    const hashOf = (name: string) =>
      [...name].reduce((hash, letter) => hashStep(hash, letter.charCodeAt(0)), 0) & 1023
    const wanted = hashOf('content-length')
    const names = Array.from(
      { length: 50_000 },
      (_, at) => `content-${String(at).padStart(6, '0')}`,
    )
    const colliding = names.filter((name) => hashOf(name) === wanted)
    expect(colliding.length).toBeGreaterThan(10)
    for (const name of colliding) {
      expect(parseRequest(post(`${name}: 5\r\n`))).toBeGreaterThan(0)
      expect(parser.bodyLength).toBe(BodyLength.NONE)
    }
  })

  it('collects what the Connection field nominates, over several lines', () => {
    parseRequest(get('Connection: Close, X-A\r\nConnection: keep-alive,x-b\r\n'))
    expect(parser.nominated).toEqual(['x-a', 'x-b'])
    expect([parser.hasClose, parser.hasKeepAlive]).toEqual([true, true])
  })
})

describe('HeadParser.parseAnswer', () => {
  it.each([
    ['a status of five digits', 'HTTP/1.1 99999 X\r\n\r\n'],
    ['a status of one digit', 'HTTP/1.1 2 \r\n\r\n'],
    ['a version alone', 'HTTP/1.1\r\n\r\n'],
    ['no protocol', 'ICY 200 OK\r\n\r\n'],
    ['another coding', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n'],
    ['two lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n'],
    ['a bare LF', 'HTTP/1.1 200 OK\nContent-Length: 5\n\n'],
    ['a NUL', 'HTTP/1.1 200 OK\r\nX: a\0b\r\n\r\n'],
    ['a head without an end', `HTTP/1.1 200 OK\r\nX: ${'a'.repeat(limits.headBytesMax)}`],
  ])('refuses %s with 502', (_name, head) => {
    expect(parseAnswer(head)).toBe(-502)
  })

  it('lets chunked count where a server sends both lengths, and remembers it', () => {
    parseAnswer('HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n')
    expect([parser.bodyLength, parser.hasBothLengths]).toEqual([BodyLength.CHUNKED, true])
  })

  it('takes an answer without a length for one that ends with the connection', () => {
    parseAnswer('HTTP/1.1 200 OK\r\n\r\n')
    expect(parser.bodyLength).toBe(BodyLength.UNTIL_CLOSE)
  })

  it('accepts a status line without a reason', () => {
    expect(parseAnswer('HTTP/1.1 204\r\n\r\n')).toBeGreaterThan(0)
    expect(parseAnswer('HTTP/1.1 204 \r\n\r\n')).toBeGreaterThan(0)
  })
})

import { describe, expect, it } from 'vitest'
import { AnswerReader, Reading } from './answer-reader.ts'

const BODY = 'xyxyx'
const PLAIN = `HTTP/1.1 200 OK\r\nServer: a\r\ncontent-length: 5\r\n\r\n${BODY}`
const CHUNKED =
  'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;a=b\r\nxy\r\n03\r\nxyx\r\n0\r\nT: 1\r\n\r\n'
const CHUNKED_BARE = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nxyxyx\r\n0\r\n\r\n'
const EARLY = `HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n${PLAIN}`
const CLOSING = `HTTP/1.1 503 No\r\nConnection: close\r\nContent-Length: 5\r\n\r\n${BODY}`
const OLD = `HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\n${BODY}`
const UNTIL_CLOSE = `HTTP/1.1 200 OK\r\n\r\n${BODY}`

function reader(): AnswerReader {
  const answer = new AnswerReader(Buffer.from('xy'))
  answer.begin(true)
  return answer
}

function readings(answer: AnswerReader, text: string, pieceBytes: number): Reading[] {
  const bytes = Buffer.from(text)
  const results: Reading[] = []
  for (let at = 0; at < bytes.length; at += pieceBytes) {
    const piece = bytes.subarray(at, at + pieceBytes)
    results.push(answer.read(piece, piece.length))
  }
  return results
}

const SIZES = [1, 2, 3, 7, 16, 64, 4096]

describe('an answer', () => {
  it.each([
    ['with a length', PLAIN, { status: 200, isKept: true }],
    ['in chunks with a trailer', CHUNKED, { status: 200, isKept: true }],
    ['in one chunk', CHUNKED_BARE, { status: 200, isKept: true }],
    ['after an early one', EARLY, { status: 200, isKept: true }],
    ['that ends its connection', CLOSING, { status: 503, isKept: false }],
    ['of HTTP/1.0', OLD, { status: 200, isKept: false }],
  ])('%s is read whole, however its bytes come', (_name, text, facts) => {
    for (const size of SIZES) {
      const answer = reader()
      const results = readings(answer, text, size)
      expect(results.pop()).toBe(Reading.WHOLE)
      expect(results.every((reading) => reading === Reading.MORE)).toBe(true)
      expect(answer).toMatchObject({ ...facts, bodyBytes: 5, isAsExpected: true })
    }
  })

  it('without a length ends with its connection', () => {
    const answer = reader()
    expect(readings(answer, UNTIL_CLOSE, 8).at(-1)).toBe(Reading.MORE)
    expect(answer.end()).toBe(Reading.WHOLE)
    expect(answer).toMatchObject({ bodyBytes: 5, isKept: false })
  })

  it('with a length is not whole when its connection ends early', () => {
    const answer = reader()
    readings(answer, PLAIN.slice(0, -1), 4096)
    expect(answer.end()).toBe(Reading.BAD)
  })

  it('without a body has none', () => {
    const answer = reader()
    expect(readings(answer, 'HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n', 99)).toEqual([
      Reading.WHOLE,
    ])
    expect(answer.bodyBytes).toBe(0)
  })

  it.each([
    ['that has more bytes than its length', `${PLAIN}x`],
    ['that has bytes after its last chunk', `${CHUNKED}x`],
    ['of another protocol', 'SSH-2.0-OpenSSH_9.2\r\n\r\n'],
    ['whose length is no number', 'HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n'],
    ['whose chunk has no size', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxy\r\n'],
  ])('%s is bad', (_name, text) => {
    expect(readings(reader(), text, 4096)).toEqual([Reading.BAD])
  })

  it('whose body differs from the pattern is told, where it is compared', () => {
    const answer = reader()
    readings(answer, PLAIN.replace(BODY, 'xyxxx'), 3)
    expect(answer.isAsExpected).toBe(false)
    answer.begin(false)
    readings(answer, PLAIN.replace(BODY, 'xyxxx'), 3)
    expect(answer.isAsExpected).toBe(true)
  })
})

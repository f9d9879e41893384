import { describe, expect, it } from 'vitest'
import { limits } from '../../limits.ts'
import { ChunkedDecoder, ChunkStep } from './chunked-decoder.ts'

/** The data and how it ended, fed in pieces of the given sizes in turn. */
function decode(
  text: string,
  sizes: readonly number[],
): { data: string; end: number; rest: number } {
  const decoder = new ChunkedDecoder()
  const bytes = Buffer.from(text, 'latin1')
  let data = ''
  let from = 0
  for (let turn = 0; from < bytes.length; turn += 1) {
    const to = Math.min(bytes.length, from + (sizes[turn % sizes.length] ?? 1))
    while (from < to) {
      const step = decoder.step(bytes, from, to)
      if (step === ChunkStep.MALFORMED) return { data, end: step, rest: 0 }
      from = decoder.at
      if (step === ChunkStep.DATA)
        data += bytes.toString('latin1', decoder.dataStart, decoder.dataEnd)
      if (step === ChunkStep.ENDED) return { data, end: step, rest: bytes.length - from }
    }
  }
  return { data, end: ChunkStep.MORE, rest: 0 }
}

const MESSAGE = '5\r\nhello\r\n00A;x="y"\r\n0123456789\r\n0\r\nX-T: 1\r\n\r\n'

describe('ChunkedDecoder', () => {
  it('gives the same data in every split', () => {
    for (let size = 1; size <= MESSAGE.length; size += 1) {
      expect(decode(MESSAGE, [size])).toEqual({
        data: 'hello0123456789',
        end: ChunkStep.ENDED,
        rest: 0,
      })
    }
    expect(decode(MESSAGE, [1, 7, 2])).toMatchObject({ data: 'hello0123456789' })
  })

  it('leaves what follows the last chunk alone', () => {
    expect(decode(`${MESSAGE}GET`, [1_000])).toMatchObject({ end: ChunkStep.ENDED, rest: 3 })
  })

  it.each([
    ['0x5', '0x5\r\nhello\r\n0\r\n\r\n'],
    ['a sign', '+5\r\nhello\r\n0\r\n\r\n'],
    ['a mark', '5_\r\nhello\r\n0\r\n\r\n'],
    ['a space before', ' 5\r\nhello\r\n0\r\n\r\n'],
    ['a space after', '5 \r\nhello\r\n0\r\n\r\n'],
    ['no digits', '\r\nhello\r\n0\r\n\r\n'],
    ['only an extension', ';x\r\nhello\r\n0\r\n\r\n'],
    ['another letter', '5g\r\nhello\r\n0\r\n\r\n'],
    ['a long run of zeros', `${'0'.repeat(4096)}5\r\nhello\r\n0\r\n\r\n`],
    ['2^64 + 5', '10000000000000005\r\nhello\r\n0\r\n\r\n'],
    ['2^64 - 1', 'FFFFFFFFFFFFFFFF\r\nhello\r\n0\r\n\r\n'],
    ['a bare LF after the size', '5\nhello\r\n0\r\n\r\n'],
    ['a bare LF after the data', '5\r\nhello\n0\r\n\r\n'],
    ['a bare LF in an extension', '5;a\n=b\r\nhello\r\n0\r\n\r\n'],
    ['a bare LF at the end', '5\r\nhello\r\n0\n\n'],
    ['data longer than its size', '4\r\nhello\r\n0\r\n\r\n'],
    ['a long extension', `5;${'x'.repeat(limits.chunkLineBytesMax)}\r\nhello\r\n0\r\n\r\n`],
    ['long trailers', `0\r\n${'X: 1\r\n'.repeat(limits.trailerBytesMax / 4)}\r\n`],
    ['a folded trailer', '0\r\nX: 1\r\n y\r\n\r\n'],
    ['a NUL in a trailer', '0\r\nX: \0\r\n\r\n'],
  ])('refuses %s, in one piece and byte by byte', (_name, text) => {
    expect(decode(text, [text.length]).end).toBe(ChunkStep.MALFORMED)
    expect(decode(text, [1]).end).toBe(ChunkStep.MALFORMED)
  })

  it('reads 2^32 + 5 as what it is and waits for the rest', () => {
    expect(decode('100000005\r\nhello', [100])).toEqual({
      data: 'hello',
      end: ChunkStep.MORE,
      rest: 0,
    })
  })
})

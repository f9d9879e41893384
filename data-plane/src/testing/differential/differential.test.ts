import { describe, expect, it } from 'vitest'
import { REQUESTS } from '../fuzzing/corpus.ts'
import { mutated } from '../fuzzing/mutation.ts'
import { Random } from '../random.ts'
import { EXPLANATIONS } from './explanations.ts'
import { HEADS } from './heads.ts'
import { NodeReader, ourReading, type Reading } from './readings.ts'

const FUZZED_HEADS = 30_000
const node = new NodeReader()

function isAgreed(ours: Reading, theirs: Reading): boolean {
  if (ours.kind !== 'accepted' || theirs.kind !== 'accepted') return ours.kind === theirs.kind
  return JSON.stringify(ours) === JSON.stringify(theirs)
}

/** What nobody has explained about a head; undefined: all is well. */
function disagreement(text: string): string | undefined {
  let whole = text
  let ours = ourReading(Buffer.from(whole, 'latin1'))
  let theirs = node.read(Buffer.from(whole, 'latin1'))
  if (ours.kind === 'incomplete' || theirs.kind === 'incomplete') {
    // One may see a fault before the other: what counts is what both say in the end.
    whole = `${text}\r\n\r\n`
    ours = ourReading(Buffer.from(whole, 'latin1'))
    theirs = node.read(Buffer.from(whole, 'latin1'))
  }
  if (isAgreed(ours, theirs)) return undefined
  if (EXPLANATIONS.some(({ covers }) => covers(whole, ours, theirs))) return undefined
  return JSON.stringify({ whole, ours, theirs })
}

describe('a head that node:http reads differently', () => {
  it('is one of the explained kinds, for the known heads', () => {
    expect(HEADS.map(disagreement).filter((text) => text !== undefined)).toEqual([])
  })

  it.each([
    ['a fixed seed', 1],
    ['a fresh seed', Date.now() % 1_000_000],
  ])('is one of the explained kinds, from %s, %i', { timeout: 60_000 }, (_name, seed) => {
    const random = new Random(seed)
    for (let round = 0; round < FUZZED_HEADS; round += 1) {
      expect(disagreement(mutated(random, REQUESTS).toString('latin1'))).toBeUndefined()
    }
  })

  it('exists for every explanation', () => {
    const isUsed = (covers: (typeof EXPLANATIONS)[number]['covers']) =>
      HEADS.some((text) => {
        const bytes = Buffer.from(text, 'latin1')
        return covers(text, ourReading(bytes), node.read(bytes))
      })
    const unused = EXPLANATIONS.filter(({ covers }) => !isUsed(covers))
    expect(unused.map(({ category }) => category)).toEqual(['limits'])
  })
})

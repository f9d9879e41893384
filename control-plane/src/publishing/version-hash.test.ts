import { createHash } from 'node:crypto'
import { expect, it } from 'vitest'
import { digestOf, hashOf, SortedDigests } from './version-hash.ts'

const digests = Array.from({ length: 300 }, (_, index) => digestOf(Buffer.from(`part ${index}`)))

it('is SHA-256 over the digests in the order of their bytes', () => {
  const sorted = digests.toSorted(Buffer.compare)
  const expected = createHash('sha256').update(Buffer.concat(sorted)).digest('hex')
  expect(hashOf(digests)).toBe(expected)
  expect(hashOf(digests.toReversed())).toBe(expected)
})

it('is the same whether it comes from changes or from the whole', () => {
  let present: Buffer[] = []
  let grown = SortedDigests.empty
  for (let step = 0; step < 60; step += 1) {
    const added = digests.slice(step * 5, step * 5 + 5)
    const removed = present.filter((_, index) => (index * 7 + step) % 11 === 0)
    grown = grown.with(added, removed)
    present = [...present.filter((digest) => !removed.includes(digest)), ...added]
    expect(grown.hash).toBe(hashOf(present))
  }
})

it('counts equal digests each by itself', () => {
  const [one, other] = [digestOf(Buffer.from('a')), digestOf(Buffer.from('b'))]
  const twice = SortedDigests.empty.with([one, one, other], [])
  expect(twice.with([], [one]).hash).toBe(hashOf([one, other]))
})

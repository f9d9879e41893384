import { createHash } from 'node:crypto'
import { expect, it } from 'vitest'
import { digestOf, hashOf } from './version-hash.ts'

const digests = Array.from({ length: 300 }, (_, index) => digestOf(Buffer.from(`part ${index}`)))

it('is SHA-256 over the digests in the order of their bytes', () => {
  const sorted = digests.toSorted(Buffer.compare)
  const expected = createHash('sha256').update(Buffer.concat(sorted)).digest('hex')
  expect(hashOf(digests)).toBe(expected)
  expect(hashOf(digests.toReversed())).toBe(expected)
})

import { createHash } from 'node:crypto'
import { expect, it } from 'vitest'
import { digestText, SortedDigests } from './sorted-digests.ts'

function textOf(number: number): string {
  return digestText(Buffer.from(String(number)))
}

/** By the definition, with none of the class's ways. */
function hashOf(numbers: readonly number[]): string {
  const digests = numbers.map((one) => createHash('sha256').update(String(one)).digest())
  return createHash('sha256')
    .update(Buffer.concat(digests.sort(Buffer.compare)))
    .digest('hex')
}

it('comes by any changes to the hash of what is left', () => {
  let digests = SortedDigests.empty
  let present: number[] = []
  for (let step = 0; step < 200; step += 1) {
    const isWide = step % 50 === 0
    const removed = present.filter((number) => (number * 7 + step) % (isWide ? 2 : 11) === 0)
    const added = Array.from({ length: isWide ? 60 : step % 4 }, (_, at) => 1_000 * step + at)
    digests = digests.with(added.map(textOf), removed.map(textOf))
    present = present.filter((number) => !removed.includes(number)).concat(added)
    expect(digests.hash).toBe(hashOf(present))
  }
})

it('keeps one of two that are alike, and says when one to be removed is not there', () => {
  const twice = SortedDigests.empty.with([textOf(1), textOf(1)], [])
  expect(twice.with([], [textOf(1)]).hash).toBe(hashOf([1]))
  expect(twice.with([textOf(1)], [textOf(1)]).hash).toBe(hashOf([1, 1]))
  expect(() => twice.with([], [textOf(2)])).toThrow('is not there')
})

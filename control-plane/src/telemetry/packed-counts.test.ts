import { Histogram } from '@sluice/proto'
import { describe, expect, it } from 'vitest'
import { bucketMiddle, LatencyHistogram } from './histogram.ts'
import { mergePacked, packBreakdown, packedNothing, packHistogram } from './packed-counts.ts'

const bounds = { countMax: 2n ** 40n, sumMax: 2n ** 50n }

function read(packed: Uint8Array): LatencyHistogram {
  const histogram = new LatencyHistogram()
  histogram.mergePacked(packed)
  return histogram
}

function packed(indices: Readonly<Record<number, number>>, sum = 0): Uint8Array {
  const histogram = new LatencyHistogram()
  for (const [index, count] of Object.entries(indices)) histogram.add(Number(index), count)
  histogram.addSum(sum)
  return Buffer.from(histogram.pack())
}

describe('the wire form of a histogram', () => {
  it('is read with distances between buckets', () => {
    const wire = { indexDeltas: [0, 70, 3, 2], counts: [1n, 2n, 0n, 3n], sumUs: 600n }
    const reading = packHistogram('latency', wire, bounds)
    if (reading.kind !== 'read') throw new Error(reading.reason)
    expect(read(reading.packed).percentilesUs([0.1, 0.5, 1])).toEqual([
      0,
      bucketMiddle(70),
      bucketMiddle(75),
    ])
    expect(reading.packed).toEqual(packed({ 0: 1, 70: 2, 75: 3 }, 600))
  })

  it('may be absent', () => {
    expect(packHistogram('latency', undefined, bounds)).toEqual({
      kind: 'read',
      packed: packedNothing,
    })
    expect(packBreakdown(undefined, bounds)).toEqual({ kind: 'read', packed: packedNothing })
  })

  it.each([
    ['lists of two lengths', { indexDeltas: [1] }, 'latency.counts'],
    ['a bucket twice', { indexDeltas: [1, 0], counts: [1n, 1n] }, 'latency.indexDeltas[1]'],
    ['a bucket too far', { indexDeltas: [1_567, 1], counts: [1n, 1n] }, 'latency.indexDeltas[1]'],
    ['a count too large', { indexDeltas: [1], counts: [2n ** 41n] }, 'latency.counts[0]'],
    ['a sum too large', { sumUs: 2n ** 51n }, 'latency.sumUs'],
  ])('is refused with %s', (_name, wire, field) => {
    expect(packHistogram('latency', { ...Histogram.create(), ...wire }, bounds)).toMatchObject({
      kind: 'refused',
      field,
    })
  })
})

it.each([
  ['lists of two lengths', { codeDeltas: [1], counts: [] }, 'breakdown.counts'],
  ['a code too far', { codeDeltas: [768], counts: [1n] }, 'breakdown.codeDeltas[0]'],
])('the wire form of a breakdown is refused with %s', (_name, wire, field) => {
  expect(packBreakdown(wire, bounds)).toMatchObject({ kind: 'refused', field })
})

it.each([
  ['nothing and nothing', {}, {}],
  ['something and nothing', { 3: 4 }, {}],
  ['the same', { 3: 4, 700: 2 ** 40 }, { 3: 4, 700: 2 ** 40 }],
  ['others, in between and beyond', { 3: 4, 9: 1, 1567: 8 }, { 0: 1, 9: 2, 10: 1, 500: 130 }],
])('merging %s counts all that both count', (_name, left, right) => {
  const both = read(packed(left, 2 ** 50 + 1))
  both.mergePacked(packed(right, 99))
  expect(mergePacked(packed(left, 2 ** 50 + 1), packed(right, 99))).toEqual(
    Buffer.from(both.pack()),
  )
  expect(mergePacked(packed(right, 99), packed(left, 2 ** 50 + 1))).toEqual(
    Buffer.from(both.pack()),
  )
})

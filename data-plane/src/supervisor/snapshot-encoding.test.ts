import { Update } from '@sluice/proto'
import { expect, it } from 'vitest'
import { encodeWhole } from './snapshot-encoding.ts'

it.each([
  ['nothing', []],
  ['one without bytes', [0]],
  ['lengths at which a varint grows', [1, 127, 128, 16_383, 16_384]],
  ['many', Array.from({ length: 3_000 }, (_, at) => at % 300)],
])('encodes %s as the general encoder does', (_what, lengths) => {
  const resources = lengths.map((length, at) => Buffer.alloc(length, at))
  const update: Update = {
    version: 2n ** 40n,
    hash: 'ab'.repeat(32),
    baseVersion: 0n,
    baseHash: '',
    content: { $case: 'full', value: { resources, emptyOnPurpose: false } },
  }
  expect(encodeWhole(update, resources).equals(Update.encode(update).finish())).toBe(true)
})

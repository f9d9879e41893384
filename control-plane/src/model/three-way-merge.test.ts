import { expect, it } from 'vitest'
import { mergeThreeWays } from './three-way-merge.ts'

const base = { a: 1, b: { c: 1, d: 1 }, list: [1, 2], gone: 1 }

it.each([
  ['nothing on either side', {}, {}, {}, []],
  ['one field on each side', { a: 2 }, { b: { c: 2, d: 1 } }, { a: 2, b: { c: 2, d: 1 } }, []],
  [
    'two fields of one object',
    { b: { c: 2, d: 1 } },
    { b: { c: 1, d: 2 } },
    { b: { c: 2, d: 2 } },
    [],
  ],
  ['the same on both sides', { a: 5 }, { a: 5 }, { a: 5 }, []],
  ['one field on both sides', { a: 2 }, { a: 3 }, { a: 2 }, ['a']],
  ['a field within', { b: { c: 2, d: 1 } }, { b: { c: 3, d: 1 } }, { b: { c: 2, d: 1 } }, ['b.c']],
  ['a list on both sides', { list: [1] }, { list: [2] }, { list: [1] }, ['list']],
  ['a field that we add', { x: 1 }, {}, { x: 1 }, []],
  ['a field that they add', {}, { x: 1 }, { x: 1 }, []],
  ['a field that both add otherwise', { x: 1 }, { x: 2 }, { x: 1 }, ['x']],
])('merges %s', (_what, ours, theirs, merged, conflicts) => {
  expect(mergeThreeWays(base, { ...base, ...ours }, { ...base, ...theirs })).toEqual({
    value: { ...base, ...merged },
    conflicts,
  })
})

it('drops a field that one side dropped, and conflicts when the other changed it', () => {
  const { gone: _, ...without } = base
  expect(mergeThreeWays(base, without, base)).toEqual({ value: without, conflicts: [] })
  expect(mergeThreeWays(base, base, without)).toEqual({ value: without, conflicts: [] })
  expect(mergeThreeWays(base, without, { ...base, gone: 2 }).conflicts).toEqual(['gone'])
})

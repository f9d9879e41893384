import { expect, it } from 'vitest'
import { table } from './table.ts'

it('pads every column to its longest cell and writes a dash for what is missing', () => {
  const text = table(
    ['NAME', 'STATE', 'LABELS'],
    [
      ['node-1', 'in-sync', 'region=north'],
      ['a', null, undefined],
    ],
  )
  expect(text).toBe(
    ['NAME    STATE    LABELS', 'node-1  in-sync  region=north', 'a       -        -'].join('\n'),
  )
})

it('prints the heading when there are no rows', () => {
  expect(table(['NAME'], [])).toBe('NAME')
})

it('lets no control character through to the terminal', () => {
  expect(table(['PATH'], [['/\u001b[2J\u009b1m\n']])).toBe('PATH\n/\\u001b[2J\\u009b1m\\u000a')
})

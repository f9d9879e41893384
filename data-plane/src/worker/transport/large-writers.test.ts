import { expect, it } from 'vitest'
import { limits } from '../../limits.ts'
import { LargeWriters } from './large-writers.ts'

it('has no more of them than the bound at any time', () => {
  const writers = new LargeWriters()
  for (let count = 0; count < limits.tlsLargeWritersMax; count += 1) {
    expect(writers.enter()).toBe(true)
  }
  expect(writers.enter()).toBe(false)
  writers.leave()
  expect([writers.enter(), writers.enter()]).toEqual([true, false])
})

import { expect, it } from 'vitest'
import { TokenBucket } from './token-bucket.ts'

it('lets a burst through, then the steady rate, and never saves up more than a burst', () => {
  let nowMs = 0
  const bucket = new TokenBucket({ perSecond: 10, burst: 3, now: () => nowMs })
  const taken = () => Array.from({ length: 10 }, () => bucket.take()).filter(Boolean).length
  expect(taken()).toBe(3)
  nowMs = 99
  expect(taken()).toBe(0)
  nowMs = 200
  expect(taken()).toBe(2)
  nowMs = 60_000
  expect(taken()).toBe(3)
})

it('goes on after the clock was set back', () => {
  let nowMs = 1_000_000
  const bucket = new TokenBucket({ perSecond: 1, burst: 1, now: () => nowMs })
  expect(bucket.take()).toBe(true)
  nowMs = 0
  expect(bucket.take()).toBe(false)
  nowMs = 1_000
  expect(bucket.take()).toBe(true)
})

import { expect, it } from 'vitest'
import { limits } from '../limits.ts'
import { BackOff } from './back-off.ts'
import { parseJoinToken } from './join-token.ts'

it('doubles its ceiling up to the cap and starts again after a reset', () => {
  const backOff = new BackOff(() => 1)
  const delays = Array.from({ length: 6 }, () => backOff.nextDelayMs())
  expect(delays).toEqual([200, 400, 800, 1_600, 2_000, 2_000])
  backOff.reset()
  expect(backOff.nextDelayMs()).toBe(200)
})

it('spreads attempts over the whole of the wait', () => {
  const backOff = new BackOff(() => 0)
  expect(backOff.nextDelayMs()).toBe(0)
})

it('never waits so long that a node could not be in sync in time', () => {
  const backOff = new BackOff(() => 1)
  for (let attempt = 0; attempt < 10_000; attempt += 1) {
    expect(backOff.nextDelayMs()).toBeLessThan(limits.backInSyncMs)
  }
})

it('waits long after a refusal', () => {
  expect(new BackOff(() => 0).refusedDelayMs()).toBe(limits.refusedRetryMs / 2)
})

it('reads the CA digest of a join token', () => {
  const part = Buffer.alloc(32, 7).toString('base64url')
  const text = `sluice-join.${part}.${part}`
  expect(parseJoinToken(text)).toEqual({ text, caSha256: Buffer.alloc(32, 7) })
  expect(parseJoinToken(`sluice-join.${part}`)).toBeUndefined()
  expect(parseJoinToken(`${text}x`)).toBeUndefined()
})

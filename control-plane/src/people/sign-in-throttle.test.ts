import { expect, it } from 'vitest'
import { peopleLimits as limits } from './limits.ts'
import { SignInThrottle } from './sign-in-throttle.ts'

function clocked() {
  const clock = { ms: 1_000_000 }
  return { clock, throttle: new SignInThrottle(() => clock.ms) }
}

it('the delay of a user doubles with each failure, up to a bound, from whatever address', () => {
  const { clock, throttle } = clocked()
  const waits: number[] = []
  for (let attempt = 0; attempt < 16; attempt += 1) {
    const from = { user: 'u', address: `10.0.0.${attempt}` }
    waits.push(throttle.begin(from))
    clock.ms += waits.at(-1) ?? 0
    if (waits.at(-1) !== 0) expect(throttle.begin(from)).toBe(0)
  }
  const delays = [1, 2, 4, 8, 16, 32, 60, 60, 60, 60, 60].map((seconds) => seconds * 1_000)
  expect(waits).toEqual([...Array(limits.userFailuresFree).fill(0), ...delays])
})

it('an attempt that has to wait does not make the wait longer', () => {
  const { throttle } = clocked()
  const attempt = { user: 'u', address: '10.0.0.1' }
  for (let count = 0; count < limits.userFailuresFree; count += 1) throttle.begin(attempt)
  expect([throttle.begin(attempt), throttle.begin(attempt)]).toEqual([1_000, 1_000])
})

it.each([
  ['10.0.0.1', '10.0.0.1', true],
  ['10.0.0.1', '10.0.0.2', false],
  ['10.0.0.1', '::ffff:10.0.0.1', true],
  ['2001:db8::1', '2001:db8::2', true],
  ['2001:db8:0:0:1::', '2001:db8::2', true],
  ['2001:db8:0:1::1', '2001:db8:0:2::1', false],
  ['::1', '::2', true],
])('failures from %s delay other users from %s: %s', (failing, other, isDelayed) => {
  const { clock, throttle } = clocked()
  for (let count = 0; count < limits.addressFailuresFree; count += 1) {
    expect(throttle.begin({ user: `u${count}`, address: failing })).toBe(0)
  }
  expect(throttle.begin({ user: 'other', address: other }) > 0).toBe(isDelayed)
  clock.ms += limits.signInFailuresKeptMs
  expect(throttle.begin({ user: 'other', address: other })).toBe(0)
})

it('a right password forgets the failures of its user, and not those of the address', () => {
  const { throttle } = clocked()
  const good = { user: 'good', address: '10.0.0.1' }
  for (let count = 0; count < limits.addressFailuresFree; count += 1) {
    expect(throttle.begin({ user: `u${count}`, address: '10.0.0.1' })).toBe(0)
    if (throttle.begin(good) === 0) throttle.succeeded(good)
  }
  expect(throttle.begin(good)).toBeGreaterThan(0)
  expect(throttle.begin({ ...good, address: '10.0.0.2' })).toBe(0)
})

it('remembers only so many', () => {
  const { throttle } = clocked()
  const first = { user: 'first', address: '10.0.0.1' }
  for (let count = 0; count < limits.userFailuresFree; count += 1) throttle.begin(first)
  expect(throttle.begin(first)).toBeGreaterThan(0)
  for (let count = 0; count < limits.signInFailuresMax; count += 1) {
    throttle.begin({ user: `u${count}`, address: `10.1.${count >> 8}.${count & 255}` })
  }
  expect(throttle.begin(first)).toBe(0)
})

import { expect, it } from 'vitest'
import { WallClock } from './wall-clock.ts'

it('goes by the monotonic clock, and follows the clock of the system where that was set', () => {
  let [monotonicMs, systemMs] = [1_000, 50_000]
  const clock = new WallClock(
    () => monotonicMs,
    () => systemMs,
  )
  ;[monotonicMs, systemMs] = [2_000, 51_400]
  clock.follow()
  expect(clock.now()).toBe(51_000)
  expect(clock.at(1_500)).toBe(50_500)
  ;[monotonicMs, systemMs] = [3_000, 20_000]
  expect(clock.now()).toBe(52_000)
  clock.follow()
  expect(clock.now()).toBe(20_000)
})

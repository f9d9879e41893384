import { expect, it, vi } from 'vitest'
import { limits } from './limits.ts'
import { LogRaise } from './log-raise.ts'

it('ends by itself, and is replaced by a later one', async () => {
  const told: number[] = []
  const raise = new LogRaise((linesPerSecond) => told.push(linesPerSecond))
  raise.set(200, limits.logRaiseMaxMs)
  raise.set(300, 20)
  await vi.waitFor(() => expect(told).toEqual([200, 300, 0]), { timeout: 10_000 })
  expect(raise.linesPerSecond).toBe(0)
})

it('is bounded, and a time of 0 ends it', () => {
  const told: number[] = []
  const raise = new LogRaise((linesPerSecond) => told.push(linesPerSecond))
  raise.set(1_000_000, 60_000)
  raise.set(1_000, 0)
  expect(told).toEqual([limits.logLinesPerSecondMax, 0])
})

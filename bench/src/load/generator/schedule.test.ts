import { describe, expect, it } from 'vitest'
import { DueTimes } from './schedule.ts'

/** The k-th request of connection i of C, each connection by itself with its phase: pace by connection. */
function perConnectionSeconds(
  [from, to]: readonly [number, number],
  seconds: number,
  { connections, index, k }: { connections: number; index: number; k: number },
): number {
  const start = from / connections
  const slope = (to - from) / (connections * seconds)
  const turns = k + index / connections
  if (slope === 0) return turns / start
  return (-start + Math.sqrt(start * start + 2 * slope * turns)) / slope
}

describe('the schedule', () => {
  it.each([
    ['constant', { kind: 'constant', perSecond: 5_000, seconds: 2 }, [5_000, 5_000]],
    ['ramp', { kind: 'ramp', fromPerSecond: 200, toPerSecond: 9_800, seconds: 2 }, [200, 9_800]],
    [
      'falling ramp',
      { kind: 'ramp', fromPerSecond: 900, toPerSecond: 100, seconds: 2 },
      [900, 100],
    ],
  ] as const)('of a %s is that of its connections together', (_name, schedule, rates) => {
    const connections = 50
    const dueTimes = new DueTimes(schedule, 0)
    const global = Array.from({ length: dueTimes.count }, (_, n) => dueTimes.dueUs(n))
    const each = Array.from({ length: dueTimes.count }, (_, n) => {
      const of = { connections, index: n % connections, k: Math.floor(n / connections) }
      return perConnectionSeconds(rates, schedule.seconds, of) * 1e6
    })
    for (const [n, due] of global.entries()) expect(due).toBeCloseTo(each[n]!, 3)
    expect(global.at(-1)).toBeLessThanOrEqual(dueTimes.endUs + 1)
  })

  it('of a ramp has as many requests as its rates have in all, and the middle rate in the middle', () => {
    const ramp = { kind: 'ramp', fromPerSecond: 200, toPerSecond: 100_000, seconds: 300 } as const
    const dueTimes = new DueTimes(ramp, 0)
    expect(dueTimes.count).toBe(15_030_000)
    expect(dueTimes.rateAt(150)).toBe(50_100)
    expect(dueTimes.rateAt(301)).toBe(100_000)
  })

  it('begins with the warm-up at its first rate, and has its own seconds after it', () => {
    const dueTimes = new DueTimes({ kind: 'constant', perSecond: 100, seconds: 3 }, 2)
    expect(dueTimes).toMatchObject({ count: 500, warmUpCount: 200, warmUpUs: 2e6, endUs: 5e6 })
    expect([0, 1, 199, 200, 499].map((n) => dueTimes.dueUs(n) / 1e6)).toEqual([
      0, 0.01, 1.99, 2, 4.99,
    ])
  })
})

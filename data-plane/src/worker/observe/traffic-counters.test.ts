import { expect, it } from 'vitest'
import { unpackTraffic } from '../../packed-traffic.ts'
import { Random } from '../../testing/random.ts'
import type { TrafficDelta } from '../../worker-protocol.ts'
import { bucketOf } from './latency-histogram.ts'
import { TrafficCounters } from './traffic-counters.ts'

const MINUTE_MS = 60_000

interface Expected {
  readonly latency: Map<number, number>
  requests: number
  bytesIn: number
  bytesOut: number
  latencySumUs: number
}

function readable({ router, requests, bytesIn, bytesOut, latency, latencySumUs }: TrafficDelta) {
  const pairs = Array.from({ length: latency.length / 2 }, (_, at) => [
    latency[2 * at],
    latency[2 * at + 1],
  ])
  return { router, requests: requests[1], bytesIn, bytesOut, pairs, latencySumUs }
}

it('reports every exchange once, with few, many and no exchanges of a router in a second', () => {
  const random = new Random(1)
  const counters = new TrafficCounters()
  for (let second = 0; second < 50; second += 1) {
    const expected = new Map<string, Expected>()
    for (let router = 0; router < 5; router += 1) {
      const count = random.pick([0, 1, 15, 16, 17, 18, 300])
      if (count === 0) continue
      const sums = { latency: new Map(), requests: 0, bytesIn: 0, bytesOut: 0, latencySumUs: 0 }
      expected.set(`r${router}`, sums)
      for (let exchange = 0; exchange < count; exchange += 1) {
        const us = random.skewed(10_000_000)
        counters.of(`r${router}`, 's').add(200, exchange, 2 * exchange, us)
        sums.latency.set(bucketOf(us), (sums.latency.get(bucketOf(us)) ?? 0) + 1)
        sums.requests += 1
        sums.bytesIn += exchange
        sums.bytesOut += 2 * exchange
        sums.latencySumUs += us
      }
    }
    const rows = unpackTraffic(structuredClone(counters.take(MINUTE_MS)))
    const byRouter = rows.map(readable).sort((one, other) => (one.router < other.router ? -1 : 1))
    expect(byRouter).toEqual(
      [...expected].map(([router, { latency, ...sums }]) => ({
        router,
        ...sums,
        pairs: [...latency].sort(([one], [other]) => one - other),
      })),
    )
  }
})

import { expect, it } from 'vitest'
import { unpackTraffic } from '../../packed-traffic.ts'
import { Random } from '../../testing/random.ts'
import type { TrafficDelta } from '../../worker-protocol.ts'
import { bucketOf } from './latency-histogram.ts'
import { TrafficCounters } from './traffic-counters.ts'

const MINUTE_MS = 60_000

interface Expected {
  readonly latency: Map<number, number>
  readonly firstByte: Map<number, number>
  readonly breakdown: Map<number, number>
  firstByteSumUs: number
  retries: number
  requests: number
  bytesIn: number
  bytesOut: number
  latencySumUs: number
}

function readable({ router, requests, latency, firstByte, breakdown, ...row }: TrafficDelta) {
  const { bytesIn, bytesOut, latencySumUs, firstByteSumUs, retries } = row
  return {
    router,
    requests: requests[1],
    bytesIn,
    bytesOut,
    latencySumUs,
    firstByteSumUs,
    retries,
    pairs: pairsOf(latency),
    firstByte: pairsOf(firstByte),
    breakdown: pairsOf(breakdown),
  }
}

function pairsOf(numbers: Uint32Array): (number | undefined)[][] {
  return Array.from({ length: numbers.length / 2 }, (_, at) => [
    numbers[2 * at],
    numbers[2 * at + 1],
  ])
}

/** Success, by any outcome, method and protocol. */
function codeOf(exchange: number): number {
  return 1 + 6 * (exchange % 128)
}

function countIn(counts: Map<number, number>, index: number): void {
  counts.set(index, (counts.get(index) ?? 0) + 1)
}

function sorted(counts: ReadonlyMap<number, number>): [number, number][] {
  return [...counts].sort(([one], [other]) => one - other)
}

function noSums(): Expected {
  const sums = { requests: 0, bytesIn: 0, bytesOut: 0, latencySumUs: 0 }
  const counts = { latency: new Map(), firstByte: new Map(), breakdown: new Map() }
  return { ...sums, ...counts, firstByteSumUs: 0, retries: 0 }
}

it('reports every exchange once, with few, many and no exchanges of a router in a second', () => {
  const random = new Random(1)
  const counters = new TrafficCounters()
  for (let second = 0; second < 50; second += 1) {
    const expected = new Map<string, Expected>()
    for (let router = 0; router < 5; router += 1) {
      const count = random.pick([0, 1, 15, 16, 17, 18, 300])
      if (count === 0) continue
      const sums = noSums()
      expected.set(`r${router}`, sums)
      for (let exchange = 0; exchange < count; exchange += 1) {
        const us = random.skewed(10_000_000)
        const counter = counters.of(`r${router}`, 's')
        counter.add(codeOf(exchange), exchange, 2 * exchange, us)
        countIn(sums.breakdown, codeOf(exchange))
        if (exchange % 3 === 0) {
          counter.addAnswer(us)
          counter.addRetries(2)
          countIn(sums.firstByte, bucketOf(us))
          sums.firstByteSumUs += us
          sums.retries += 2
        }
        countIn(sums.latency, bucketOf(us))
        sums.requests += 1
        sums.bytesIn += exchange
        sums.bytesOut += 2 * exchange
        sums.latencySumUs += us
      }
    }
    const rows = unpackTraffic(structuredClone(counters.take(MINUTE_MS)))
    const byRouter = rows.map(readable).sort((one, other) => (one.router < other.router ? -1 : 1))
    expect(byRouter).toEqual(
      [...expected].map(([router, { latency, firstByte, breakdown, ...sums }]) => ({
        router,
        ...sums,
        pairs: sorted(latency),
        firstByte: sorted(firstByte),
        breakdown: sorted(breakdown),
      })),
    )
  }
})

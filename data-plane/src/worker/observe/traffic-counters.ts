/**
 * Counts every exchange once, by router and service, in typed arrays that are made with the first exchange of
 * a router. A report takes what was counted since the one before. Hot: TrafficCounter.add.
 */
import { type PackedTraffic, TrafficPacker } from '../../packed-traffic.ts'
import { STATUS_CLASSES } from '../../worker-protocol.ts'
import { bucketOf, LATENCY_BUCKETS } from './latency-histogram.ts'

const NO_STATUS_CLASS = STATUS_CLASSES.length - 1
const FIRST_MAX = 16

export class TrafficCounter {
  readonly router: string
  readonly service: string
  /** Exchanges that have not ended. */
  open = 0
  readonly #requests = new Float64Array(STATUS_CLASSES.length)
  /** The buckets of the first exchanges since the last report: most routers have few in a second. */
  readonly #first = new Uint16Array(FIRST_MAX)
  #firstCount = 0
  /** Counts by bucket once there are more; 3.7 KB, so it goes again when there are not. */
  #latency: Uint32Array | undefined
  #latencySumUs = 0
  #bytesIn = 0
  #bytesOut = 0
  #isUsed = false

  constructor(router: string, service: string) {
    this.router = router
    this.service = service
  }

  get isUsed(): boolean {
    return this.#isUsed
  }

  /** `status` 0: the client was sent none. */
  add(status: number, bytesIn: number, bytesOut: number, durationUs: number): void {
    const statusClass = status === 0 ? NO_STATUS_CLASS : ((status / 100) | 0) - 1
    this.#isUsed = true
    this.#requests[statusClass] = (this.#requests[statusClass] ?? 0) + 1
    this.#bytesIn += bytesIn
    this.#bytesOut += bytesOut
    this.#latencySumUs += durationUs
    const bucket = bucketOf(durationUs)
    if (this.#latency !== undefined) {
      this.#latency[bucket] = (this.#latency[bucket] ?? 0) + 1
    } else if (this.#firstCount < FIRST_MAX) {
      this.#first[this.#firstCount] = bucket
      this.#firstCount += 1
    } else {
      this.#latency = this.#spread(bucket)
    }
  }

  /** Adds what was counted since the last time, and starts anew. */
  moveTo(packer: TrafficPacker): void {
    const sums = [this.#bytesIn, this.#bytesOut, this.#latencySumUs] as const
    packer.add(this.router, this.service, this.#requests, ...sums)
    const latency = this.#latency
    if (latency === undefined) packSorted(this.#first.subarray(0, this.#firstCount).sort(), packer)
    else packCounts(latency, packer)
    if (this.#requests.reduce(sum) <= FIRST_MAX) this.#latency = undefined
    else latency?.fill(0)
    this.#firstCount = 0
    this.#requests.fill(0)
    this.#bytesIn = 0
    this.#bytesOut = 0
    this.#latencySumUs = 0
    this.#isUsed = false
  }

  #spread(next: number): Uint32Array {
    const counts = new Uint32Array(LATENCY_BUCKETS)
    for (const bucket of this.#first) counts[bucket] = (counts[bucket] ?? 0) + 1
    counts[next] = (counts[next] ?? 0) + 1
    return counts
  }
}

function sum(one: number, other: number): number {
  return one + other
}

function packCounts(counts: Uint32Array, packer: TrafficPacker): void {
  for (let bucket = 0; bucket < counts.length; bucket += 1) {
    const count = counts[bucket] ?? 0
    if (count > 0) packer.addLatency(bucket, count)
  }
}

/** One bucket for each exchange. */
function packSorted(buckets: Uint16Array, packer: TrafficPacker): void {
  let start = 0
  for (let at = 1; at <= buckets.length; at += 1) {
    const bucket = buckets[start] ?? 0
    if (buckets[at] === bucket) continue
    packer.addLatency(bucket, at - start)
    start = at
  }
}

export class TrafficCounters {
  readonly #counters = new Map<string, TrafficCounter>()

  /** The counter of a router and service, which outlives versions as long as it is held or counts. */
  of(router: string, service: string): TrafficCounter {
    const key = `${router}\n${service}`
    let counter = this.#counters.get(key)
    if (counter === undefined) {
      counter = new TrafficCounter(router, service)
      this.#counters.set(key, counter)
    }
    return counter
  }

  /** All counters with traffic. */
  take(minuteMs: number): PackedTraffic {
    const used = [...this.#counters.values()].filter(({ isUsed }) => isUsed)
    const packer = new TrafficPacker(minuteMs, used.length)
    for (const counter of used) counter.moveTo(packer)
    return packer.finish()
  }
}

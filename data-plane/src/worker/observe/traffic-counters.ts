/**
 * Counts every exchange once, by router and service, in typed arrays that are made with the first exchange of
 * a router. A report takes what was counted since the one before. Hot: TrafficCounter.add.
 */
import { STATUS_CLASSES, type TrafficDelta } from '../../worker-protocol.ts'
import { bucketOf, LATENCY_BUCKETS } from './latency-histogram.ts'

const NO_STATUS_CLASS = STATUS_CLASSES.length - 1

export class TrafficCounter {
  readonly router: string
  readonly service: string
  /** Exchanges that have not ended. */
  open = 0
  readonly #requests = new Float64Array(STATUS_CLASSES.length)
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
    this.#latency ??= new Uint32Array(LATENCY_BUCKETS)
    const bucket = bucketOf(durationUs)
    this.#latency[bucket] = (this.#latency[bucket] ?? 0) + 1
  }

  /** What was counted since the last take, which starts anew. */
  take(minuteMs: number): TrafficDelta {
    const delta = {
      minuteMs,
      router: this.router,
      service: this.service,
      requests: this.#requests.slice(),
      bytesIn: this.#bytesIn,
      bytesOut: this.#bytesOut,
      latency: takeBuckets(this.#latency),
      latencySumUs: this.#latencySumUs,
    }
    this.#requests.fill(0)
    this.#bytesIn = 0
    this.#bytesOut = 0
    this.#latencySumUs = 0
    this.#isUsed = false
    return delta
  }
}

/** Pairs of index and count; the counts become 0. */
function takeBuckets(buckets: Uint32Array | undefined): Uint32Array {
  const pairs: number[] = []
  if (buckets !== undefined) {
    for (let index = 0; index < buckets.length; index += 1) {
      const count = buckets[index] ?? 0
      if (count > 0) pairs.push(index, count)
    }
    buckets.fill(0)
  }
  return Uint32Array.from(pairs)
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
  take(minuteMs: number): TrafficDelta[] {
    const deltas: TrafficDelta[] = []
    for (const counter of this.#counters.values()) {
      if (counter.isUsed) deltas.push(counter.take(minuteMs))
    }
    return deltas
  }
}

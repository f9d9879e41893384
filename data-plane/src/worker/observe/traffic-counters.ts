/**
 * Counts every exchange once, by router and service, in typed arrays that are made with the first exchange of
 * a router. A report takes what was counted since the one before. Hot: TrafficCounter.add.
 */
import { type PackedTraffic, TrafficPacker } from '../../packed-traffic.ts'
import { STATUS_CLASSES } from '../../worker-protocol.ts'
import { BREAKDOWN_CODES } from './breakdown.ts'
import { bucketOf, LATENCY_BUCKETS } from './latency-histogram.ts'
import { SparseCounts } from './sparse-counts.ts'

export class TrafficCounter {
  readonly router: string
  readonly service: string
  /** Exchanges that have not ended. */
  open = 0
  readonly #requests = new Float64Array(STATUS_CLASSES.length)
  readonly #latency = new SparseCounts(LATENCY_BUCKETS)
  readonly #firstByte = new SparseCounts(LATENCY_BUCKETS)
  readonly #breakdown = new SparseCounts(BREAKDOWN_CODES)
  #latencySumUs = 0
  #firstByteSumUs = 0
  #retries = 0
  #bytesIn = 0
  #bytesOut = 0
  #isUsed = false
  readonly #onUse: (counter: TrafficCounter) => void

  constructor(router: string, service: string, onUse: (counter: TrafficCounter) => void) {
    this.router = router
    this.service = service
    this.#onUse = onUse
  }

  get isUsed(): boolean {
    return this.#isUsed
  }

  /** Once for each exchange. `code`: of its breakdown, which the class of its status is a part of. */
  add(code: number, bytesIn: number, bytesOut: number, durationUs: number): void {
    const statusClass = code % STATUS_CLASSES.length
    if (!this.#isUsed) {
      this.#isUsed = true
      this.#onUse(this)
    }
    this.#requests[statusClass] = (this.#requests[statusClass] ?? 0) + 1
    this.#bytesIn += bytesIn
    this.#bytesOut += bytesOut
    this.#latencySumUs += durationUs
    this.#latency.add(bucketOf(durationUs))
    this.#breakdown.add(code)
  }

  /** Of an exchange that a server answered. */
  addAnswer(firstByteUs: number): void {
    this.#firstByteSumUs += firstByteUs
    this.#firstByte.add(bucketOf(firstByteUs))
  }

  /** Attempts after the first of an exchange. */
  addRetries(retries: number): void {
    this.#retries += retries
  }

  /** Adds what was counted since the last time, and starts anew. */
  moveTo(packer: TrafficPacker): void {
    packer.add(this.router, this.service, this.#requests, {
      bytesIn: this.#bytesIn,
      bytesOut: this.#bytesOut,
      latencySumUs: this.#latencySumUs,
      firstByteSumUs: this.#firstByteSumUs,
      retries: this.#retries,
    })
    this.#latency.moveTo(packer)
    this.#firstByte.moveTo(packer)
    this.#breakdown.moveTo(packer)
    this.#requests.fill(0)
    this.#bytesIn = 0
    this.#bytesOut = 0
    this.#latencySumUs = 0
    this.#firstByteSumUs = 0
    this.#retries = 0
    this.#isUsed = false
  }
}

export class TrafficCounters {
  readonly #counters = new Map<string, TrafficCounter>()
  /** Those with traffic since the last report, also when no router has them any more. */
  #used: TrafficCounter[] = []
  readonly #onUse = (counter: TrafficCounter) => {
    this.#used.push(counter)
  }

  /** The counter of a router and service, which outlives versions until it is dropped. */
  of(router: string, service: string): TrafficCounter {
    const key = keyOf(router, service)
    let counter = this.#counters.get(key)
    if (counter === undefined) {
      counter = new TrafficCounter(router, service, this.#onUse)
      this.#counters.set(key, counter)
    }
    return counter
  }

  /** No new exchange has it. What exchanges that run still count is reported. */
  drop({ router, service }: TrafficCounter): void {
    this.#counters.delete(keyOf(router, service))
  }

  /** All counters with traffic. */
  take(minuteMs: number): PackedTraffic {
    const used = this.#used
    this.#used = []
    const packer = new TrafficPacker(minuteMs, used.length)
    for (const counter of used) counter.moveTo(packer)
    return packer.finish()
  }
}

function keyOf(router: string, service: string): string {
  return `${router}\n${service}`
}

/**
 * Traffic deltas as a report carries them from a worker to the supervisor. Three values are copied between the
 * processes, however many rows there are: with an object for each of 10,000 routers in use, serialising alone
 * would hold up a worker's connections for 30 to 60 ms in every second.
 */
import { STATUS_CLASSES, type TrafficDelta } from './worker-protocol.ts'

const CLASSES = STATUS_CLASSES.length
/** Of `numbers`, for a row: requests by class, bytes in, bytes out, sum of latencies, length of its pairs. */
const COLUMNS = CLASSES + 4

export interface PackedTraffic {
  readonly minuteMs: number
  /** Router and service of each row, each ended by a line feed, which is in no name. */
  readonly names: string
  readonly numbers: Float64Array
  /** The rows' pairs of bucket and count, one after the other. */
  readonly latency: Uint32Array
}

/** Collects rows without an object for each. */
export class TrafficPacker {
  readonly #minuteMs: number
  readonly #numbers: Float64Array
  #names = ''
  #row = -COLUMNS
  #latency = new Uint32Array(64)
  #latencyLength = 0

  /** `rows`: how many there will be. */
  constructor(minuteMs: number, rows: number) {
    this.#minuteMs = minuteMs
    this.#numbers = new Float64Array(rows * COLUMNS)
  }

  /** Begins a row. `sums`: bytes in, bytes out, sum of latencies in µs. */
  add(router: string, service: string, requests: Float64Array, ...sums: RowSums): void {
    const [bytesIn, bytesOut, latencySumUs] = sums
    this.#row += COLUMNS
    this.#names += `${router}\n${service}\n`
    this.#numbers.set(requests, this.#row)
    this.#numbers[this.#row + CLASSES] = bytesIn
    this.#numbers[this.#row + CLASSES + 1] = bytesOut
    this.#numbers[this.#row + CLASSES + 2] = latencySumUs
  }

  /** Of the row that was begun last; its buckets ascend. */
  addLatency(bucket: number, count: number): void {
    if (this.#latencyLength === this.#latency.length) {
      const larger = new Uint32Array(2 * this.#latency.length)
      larger.set(this.#latency)
      this.#latency = larger
    }
    this.#latency[this.#latencyLength] = bucket
    this.#latency[this.#latencyLength + 1] = count
    this.#latencyLength += 2
    const length = this.#row + CLASSES + 3
    this.#numbers[length] = (this.#numbers[length] ?? 0) + 2
  }

  finish(): PackedTraffic {
    return {
      minuteMs: this.#minuteMs,
      names: this.#names,
      numbers: this.#numbers,
      latency: this.#latency.slice(0, this.#latencyLength),
    }
  }
}

type RowSums = readonly [bytesIn: number, bytesOut: number, latencySumUs: number]

/** The rows, as views of the packed ones. */
export function unpackTraffic({
  minuteMs,
  names,
  numbers,
  latency,
}: PackedTraffic): TrafficDelta[] {
  const name = names.split('\n')
  const rows: TrafficDelta[] = []
  let pairs = 0
  for (let at = 0; at < numbers.length; at += COLUMNS) {
    const [bytesIn = 0, bytesOut = 0, latencySumUs = 0, length = 0] = numbers.subarray(
      at + CLASSES,
      at + COLUMNS,
    )
    rows.push({
      minuteMs,
      router: name[2 * rows.length] ?? '',
      service: name[2 * rows.length + 1] ?? '',
      requests: numbers.subarray(at, at + CLASSES),
      bytesIn,
      bytesOut,
      latency: latency.subarray(pairs, pairs + length),
      latencySumUs,
    })
    pairs += length
  }
  return rows
}

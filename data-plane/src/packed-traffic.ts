/**
 * Traffic deltas as a report carries them from a worker to the supervisor. Three values are copied between the
 * processes, however many rows there are: with an object for each of 10,000 routers in use, serialising alone
 * would hold up a worker's connections for 30 to 60 ms in every second.
 */
import { STATUS_CLASSES, type TrafficDelta } from './worker-protocol.ts'

const CLASSES = STATUS_CLASSES.length
const SUMS = ['bytesIn', 'bytesOut', 'latencySumUs', 'firstByteSumUs', 'retries'] as const
/** Latency, first byte, breakdown. */
const LISTS = 3
/** Where in a row the lengths of its lists are. */
const LENGTHS = CLASSES + SUMS.length
/** Of `numbers`, for a row: requests by class, sums, lengths of its lists of pairs. */
const COLUMNS = LENGTHS + LISTS

export type RowSums = Readonly<Record<(typeof SUMS)[number], number>>

export interface PackedTraffic {
  readonly minuteMs: number
  /** Router and service of each row, each ended by a line feed, which is in no name. */
  readonly names: string
  readonly numbers: Float64Array
  /** The rows' pairs of index and count, one list after the other. */
  readonly pairs: Uint32Array
}

/** Collects rows without an object for each of their pairs. */
export class TrafficPacker {
  readonly #minuteMs: number
  readonly #numbers: Float64Array
  #names = ''
  #row = -COLUMNS
  #list = 0
  #pairs = new Uint32Array(64)
  #pairsLength = 0

  /** `rows`: how many there will be. */
  constructor(minuteMs: number, rows: number) {
    this.#minuteMs = minuteMs
    this.#numbers = new Float64Array(rows * COLUMNS)
  }

  /** Begins a row; its lists of pairs follow. */
  add(router: string, service: string, requests: Float64Array, sums: RowSums): void {
    this.#row += COLUMNS
    this.#names += `${router}\n${service}\n`
    this.#numbers.set(requests, this.#row)
    for (let at = 0; at < SUMS.length; at += 1) {
      this.#numbers[this.#row + CLASSES + at] = sums[SUMS[at] ?? 'retries']
    }
    this.#list = this.#row + LENGTHS - 1
  }

  /** Begins the next list of the row: latency, first byte, breakdown. */
  beginPairs(): void {
    this.#list += 1
  }

  /** Of the list that was begun last; indices ascend. */
  addPair(index: number, count: number): void {
    if (this.#pairsLength === this.#pairs.length) {
      const larger = new Uint32Array(2 * this.#pairs.length)
      larger.set(this.#pairs)
      this.#pairs = larger
    }
    this.#pairs[this.#pairsLength] = index
    this.#pairs[this.#pairsLength + 1] = count
    this.#pairsLength += 2
    this.#numbers[this.#list] = (this.#numbers[this.#list] ?? 0) + 2
  }

  finish(): PackedTraffic {
    return {
      minuteMs: this.#minuteMs,
      names: this.#names,
      numbers: this.#numbers,
      pairs: this.#pairs.slice(0, this.#pairsLength),
    }
  }
}

/** The rows, as views of the packed ones. */
export function unpackTraffic({ minuteMs, names, numbers, pairs }: PackedTraffic): TrafficDelta[] {
  const name = names.split('\n')
  const rows: TrafficDelta[] = []
  let end = 0
  const nextList = (length: number) => {
    end += length
    return pairs.subarray(end - length, end)
  }
  for (let at = 0; at < numbers.length; at += COLUMNS) {
    const [bytesIn = 0, bytesOut = 0, latencySumUs = 0, firstByteSumUs = 0, retries = 0] =
      numbers.subarray(at + CLASSES, at + LENGTHS)
    const [latency = 0, firstByte = 0, breakdown = 0] = numbers.subarray(at + LENGTHS, at + COLUMNS)
    rows.push({
      minuteMs,
      router: name[2 * rows.length] ?? '',
      service: name[2 * rows.length + 1] ?? '',
      requests: numbers.subarray(at, at + CLASSES),
      bytesIn,
      bytesOut,
      latencySumUs,
      firstByteSumUs,
      retries,
      latency: nextList(latency),
      firstByte: nextList(firstByte),
      breakdown: nextList(breakdown),
    })
  }
  return rows
}

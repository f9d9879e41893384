/**
 * Counts by a small whole number, like the bucket of a latency. Most routers have few exchanges in a second, so
 * the first ones are kept one by one and the array with a place for each number is made when there are more.
 * Hot: SparseCounts.add.
 */
import type { TrafficPacker } from '../../packed-traffic.ts'

const FIRST_MAX = 16

export class SparseCounts {
  readonly #size: number
  readonly #first = new Uint16Array(FIRST_MAX)
  #firstCount = 0
  /** Some kilobytes, so it goes again when few are counted between two reports. */
  #counts: Uint32Array | undefined
  #added = 0

  /** `size`: all numbers are below. */
  constructor(size: number) {
    this.#size = size
  }

  add(index: number): void {
    this.#added += 1
    if (this.#counts !== undefined) {
      this.#counts[index] = (this.#counts[index] ?? 0) + 1
    } else if (this.#firstCount < FIRST_MAX) {
      this.#first[this.#firstCount] = index
      this.#firstCount += 1
    } else {
      this.#counts = this.#spread(index)
    }
  }

  /** Adds what was counted since the last time as the next pairs of the packer's row, and starts anew. */
  moveTo(packer: TrafficPacker): void {
    packer.beginPairs()
    const counts = this.#counts
    if (counts === undefined) packSorted(this.#first.subarray(0, this.#firstCount).sort(), packer)
    else packCounts(counts, packer)
    if (this.#added <= FIRST_MAX) this.#counts = undefined
    else counts?.fill(0)
    this.#firstCount = 0
    this.#added = 0
  }

  #spread(next: number): Uint32Array {
    const counts = new Uint32Array(this.#size)
    for (const index of this.#first) counts[index] = (counts[index] ?? 0) + 1
    counts[next] = (counts[next] ?? 0) + 1
    return counts
  }
}

function packCounts(counts: Uint32Array, packer: TrafficPacker): void {
  for (let index = 0; index < counts.length; index += 1) {
    const count = counts[index] ?? 0
    if (count > 0) packer.addPair(index, count)
  }
}

/** One entry for each exchange. */
function packSorted(indices: Uint16Array, packer: TrafficPacker): void {
  let start = 0
  for (let at = 1; at <= indices.length; at += 1) {
    const index = indices[start] ?? 0
    if (indices[at] === index) continue
    packer.addPair(index, at - start)
    start = at
  }
}

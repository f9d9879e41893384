/** A clock that moves when the run says so, and the events that are due on it, in an order of the seed's choice. */
import type { Random } from '../random.ts'

interface Event {
  readonly atMs: number
  /** Decides between events of the same time. */
  readonly order: number
  readonly run: () => void
}

export class VirtualTime {
  nowMs = 0
  readonly #random: Random
  /** A binary heap, the next event first. */
  readonly #heap: Event[] = []

  constructor(random: Random) {
    this.#random = random
  }

  get nextAtMs(): number {
    return this.#heap[0]?.atMs ?? Number.POSITIVE_INFINITY
  }

  after(ms: number, run: () => void): void {
    const event = { atMs: this.nowMs + ms, order: this.#random.fraction(), run }
    const heap = this.#heap
    let index = heap.length
    heap.push(event)
    while (index > 0) {
      const parent = (index - 1) >> 1
      if (!isBefore(event, heap[parent])) break
      heap[index] = heap[parent] as Event
      index = parent
    }
    heap[index] = event
  }

  /** Runs the next event, if there is one. */
  step(): void {
    const heap = this.#heap
    const [first] = heap
    const last = heap.pop()
    if (first === undefined || last === undefined) return
    if (heap.length > 0) this.#sink(last)
    this.nowMs = Math.max(this.nowMs, first.atMs)
    first.run()
  }

  #sink(event: Event): void {
    const heap = this.#heap
    let index = 0
    for (;;) {
      let child = 2 * index + 1
      if (child >= heap.length) break
      if (child + 1 < heap.length && isBefore(heap[child + 1], heap[child])) child += 1
      if (!isBefore(heap[child], event)) break
      heap[index] = heap[child] as Event
      index = child
    }
    heap[index] = event
  }
}

function isBefore(one: Event | undefined, other: Event | undefined): boolean {
  if (one === undefined || other === undefined) return false
  return one.atMs < other.atMs || (one.atMs === other.atMs && one.order < other.order)
}

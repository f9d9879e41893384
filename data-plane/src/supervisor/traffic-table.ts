/**
 * Counters by minute, router and service, as they accumulate until they are sent. Bounded: at the bound,
 * old minutes are first merged into their hours, then the oldest rows lose their router and service. The
 * sums never change.
 */
import { type CounterBatch, type Histogram, TrafficRow } from '@sluice/proto'
import { STATUS_CLASSES, type TrafficDelta } from '../worker-protocol.ts'
import { limits } from './limits.ts'

const HOUR_MS = 3_600_000
const CLASS_COUNT = STATUS_CLASSES.length

interface Row {
  readonly minuteMs: number
  readonly router: string
  readonly service: string
  readonly requests: Float64Array
  bytesIn: number
  bytesOut: number
  readonly latency: Map<number, number>
  latencySumUs: number
  readonly firstByte: Map<number, number>
  firstByteSumUs: number
  readonly breakdown: Map<number, number>
  retries: number
}

export class TrafficTable {
  readonly #rowsMax: number
  #rows = new Map<string, Row>()
  #coarsened = 0

  constructor(rowsMax: number = limits.trafficRowsMax) {
    this.#rowsMax = rowsMax
  }

  get size(): number {
    return this.#rows.size
  }

  /** Rows that lost their minute or their names since the bound was reached. */
  get coarsened(): number {
    return this.#coarsened
  }

  add(delta: TrafficDelta): void {
    const row = this.#rowFor(delta.minuteMs, delta.router, delta.service)
    for (let at = 0; at < CLASS_COUNT; at += 1) {
      row.requests[at] = (row.requests[at] ?? 0) + (delta.requests[at] ?? 0)
    }
    row.bytesIn += delta.bytesIn
    row.bytesOut += delta.bytesOut
    row.latencySumUs += delta.latencySumUs
    row.firstByteSumUs += delta.firstByteSumUs
    row.retries += delta.retries
    addPairs(row.latency, delta.latency)
    addPairs(row.firstByte, delta.firstByte)
    addPairs(row.breakdown, delta.breakdown)
    if (this.#rows.size > this.#rowsMax) this.#coarsen()
  }

  /** Adds what a batch holds, like one that was read back from the disk. */
  addRows(rows: readonly TrafficRow[]): void {
    for (const row of rows) this.#merge(fromWire(row))
    if (this.#rows.size > this.#rowsMax) this.#coarsen()
  }

  /** Copies all rows, for the disk. */
  peek(): TrafficRow[] {
    return [...this.#rows.values()].map(toWire)
  }

  /** Takes out rows for one batch, oldest minutes first, up to its bound in bytes and at least one. */
  take(bytesMax: number = limits.batchBytesMax): TrafficRow[] {
    const taken: TrafficRow[] = []
    let bytes = 0
    for (const [key, row] of this.#byAge()) {
      const wire = toWire(row)
      bytes += TrafficRow.encode(wire).finish().length
      if (taken.length > 0 && bytes > bytesMax) break
      taken.push(wire)
      this.#rows.delete(key)
    }
    return taken
  }

  #coarsen(): void {
    const room = Math.floor(this.#rowsMax * 0.75)
    this.#fold(room, (row) => ({ ...row, minuteMs: row.minuteMs - (row.minuteMs % HOUR_MS) }))
    this.#fold(room, (row) => ({ ...row, router: '', service: '' }))
  }

  /** Replaces rows, oldest first, by coarser ones until there is room again. */
  #fold(room: number, coarser: (row: Row) => Row): void {
    for (const [key, row] of this.#byAge()) {
      if (this.#rows.size <= room) return
      const replacement = coarser(row)
      if (keyOf(replacement) === key) continue
      this.#rows.delete(key)
      this.#merge(replacement)
      this.#coarsened += 1
    }
  }

  #merge(from: Row): void {
    const row = this.#rowFor(from.minuteMs, from.router, from.service)
    for (let at = 0; at < CLASS_COUNT; at += 1) {
      row.requests[at] = (row.requests[at] ?? 0) + (from.requests[at] ?? 0)
    }
    row.bytesIn += from.bytesIn
    row.bytesOut += from.bytesOut
    row.latencySumUs += from.latencySumUs
    row.firstByteSumUs += from.firstByteSumUs
    row.retries += from.retries
    for (const [bucket, count] of from.latency) addTo(row.latency, bucket, count)
    for (const [bucket, count] of from.firstByte) addTo(row.firstByte, bucket, count)
    for (const [code, count] of from.breakdown) addTo(row.breakdown, code, count)
  }

  #rowFor(minuteMs: number, router: string, service: string): Row {
    const key = keyOf({ minuteMs, router, service })
    const known = this.#rows.get(key)
    if (known !== undefined) return known
    const row = {
      minuteMs,
      router,
      service,
      requests: new Float64Array(CLASS_COUNT),
      bytesIn: 0,
      bytesOut: 0,
      latency: new Map<number, number>(),
      latencySumUs: 0,
      firstByte: new Map<number, number>(),
      firstByteSumUs: 0,
      breakdown: new Map<number, number>(),
      retries: 0,
    }
    this.#rows.set(key, row)
    return row
  }

  #byAge(): [string, Row][] {
    return [...this.#rows].sort(([, one], [, other]) => one.minuteMs - other.minuteMs)
  }
}

export function countRequests(batch: Pick<CounterBatch, 'rows'>): number {
  return batch.rows.reduce((sum, row) => sum + fromWire(row).requests.reduce(plus, 0), 0)
}

function plus(one: number, other: number): number {
  return one + other
}

function addTo(counts: Map<number, number>, bucket: number, count: number): void {
  counts.set(bucket, (counts.get(bucket) ?? 0) + count)
}

function addPairs(counts: Map<number, number>, pairs: Uint32Array): void {
  for (let at = 0; at + 1 < pairs.length; at += 2) {
    addTo(counts, pairs[at] ?? 0, pairs[at + 1] ?? 0)
  }
}

function keyOf({
  minuteMs,
  router,
  service,
}: Pick<Row, 'minuteMs' | 'router' | 'service'>): string {
  return `${minuteMs}\n${router}\n${service}`
}

function toWire(row: Row): TrafficRow {
  const [informational, success, redirection, clientError, serverError, none] = [
    ...row.requests,
  ].map(BigInt)
  return {
    minuteMs: BigInt(row.minuteMs),
    router: row.router,
    service: row.service,
    requests: {
      informational: informational ?? 0n,
      success: success ?? 0n,
      redirection: redirection ?? 0n,
      clientError: clientError ?? 0n,
      serverError: serverError ?? 0n,
      none: none ?? 0n,
    },
    bytesIn: BigInt(row.bytesIn),
    bytesOut: BigInt(row.bytesOut),
    latency: toHistogram(row.latency, row.latencySumUs),
    firstByte:
      row.firstByte.size === 0 ? undefined : toHistogram(row.firstByte, row.firstByteSumUs),
    breakdown: { codeDeltas: deltasOf(row.breakdown), counts: countsOf(row.breakdown) },
    retries: BigInt(row.retries),
  }
}

function toHistogram(counts: ReadonlyMap<number, number>, sumUs: number): Histogram {
  return {
    indexDeltas: deltasOf(counts),
    counts: countsOf(counts),
    sumUs: BigInt(Math.round(sumUs)),
  }
}

function ascending(counts: ReadonlyMap<number, number>): [number, number][] {
  return [...counts].sort(([one], [other]) => one - other)
}

function deltasOf(counts: ReadonlyMap<number, number>): number[] {
  return ascending(counts).map(([index], at, all) => index - (all[at - 1]?.[0] ?? 0))
}

function countsOf(counts: ReadonlyMap<number, number>): bigint[] {
  return ascending(counts).map(([, count]) => BigInt(count))
}

function fromWire(row: TrafficRow): Row {
  return {
    minuteMs: Number(row.minuteMs),
    router: row.router,
    service: row.service,
    requests: Float64Array.from(STATUS_CLASSES, (name) => Number(row.requests?.[name] ?? 0n)),
    bytesIn: Number(row.bytesIn),
    bytesOut: Number(row.bytesOut),
    latency: fromDeltas(row.latency?.indexDeltas, row.latency?.counts),
    latencySumUs: Number(row.latency?.sumUs ?? 0n),
    firstByte: fromDeltas(row.firstByte?.indexDeltas, row.firstByte?.counts),
    firstByteSumUs: Number(row.firstByte?.sumUs ?? 0n),
    breakdown: fromDeltas(row.breakdown?.codeDeltas, row.breakdown?.counts),
    retries: Number(row.retries),
  }
}

function fromDeltas(
  deltas: readonly number[] = [],
  counts: readonly bigint[] = [],
): Map<number, number> {
  const sums = new Map<number, number>()
  let index = 0
  deltas.forEach((distance, at) => {
    index += distance
    addTo(sums, index, Number(counts[at] ?? 0n))
  })
  return sums
}

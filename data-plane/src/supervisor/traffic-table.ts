/**
 * Counters by minute, router and service, as they accumulate until they are sent. Bounded: at the bound,
 * old minutes are first merged into their hours, then the oldest rows lose their router and service. The
 * sums never change.
 */
import { type CounterBatch, TrafficRow } from '@sluice/proto'
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
    for (let at = 0; at + 1 < delta.latency.length; at += 2) {
      addTo(row.latency, delta.latency[at] ?? 0, delta.latency[at + 1] ?? 0)
    }
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
    for (const [bucket, count] of from.latency) addTo(row.latency, bucket, count)
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

function keyOf({
  minuteMs,
  router,
  service,
}: Pick<Row, 'minuteMs' | 'router' | 'service'>): string {
  return `${minuteMs}\n${router}\n${service}`
}

function toWire(row: Row): TrafficRow {
  const buckets = [...row.latency].sort(([one], [other]) => one - other)
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
    latency: {
      indexDeltas: buckets.map(([bucket], at) => bucket - (buckets[at - 1]?.[0] ?? 0)),
      counts: buckets.map(([, count]) => BigInt(count)),
      sumUs: BigInt(Math.round(row.latencySumUs)),
    },
  }
}

function fromWire(row: TrafficRow): Row {
  const latency = new Map<number, number>()
  let bucket = 0
  row.latency?.indexDeltas.forEach((distance, at) => {
    bucket += distance
    addTo(latency, bucket, Number(row.latency?.counts[at] ?? 0n))
  })
  return {
    minuteMs: Number(row.minuteMs),
    router: row.router,
    service: row.service,
    requests: Float64Array.from(STATUS_CLASSES, (name) => Number(row.requests?.[name] ?? 0n)),
    bytesIn: Number(row.bytesIn),
    bytesOut: Number(row.bytesOut),
    latency,
    latencySumUs: Number(row.latency?.sumUs ?? 0n),
  }
}

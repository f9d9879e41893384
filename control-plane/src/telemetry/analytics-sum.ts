/** One point of an answer about traffic while it is summed: of whole rows, or of parts by their breakdown. */
import type { Measures } from '../store/telemetry-tables.ts'
import { type BreakdownNames, namesOf, statuses } from './breakdown.ts'
import { LatencyHistogram } from './histogram.ts'
import { MeasureSum } from './measure-sum.ts'

/** Any of the values of each; absent: all. */
export type BreakdownFilter = {
  readonly [name in keyof BreakdownNames]?: readonly string[] | undefined
}

export interface AnalyticsPoint {
  /** Where the step begins. */
  readonly time: string
  readonly requests: number
  readonly statuses: Readonly<Record<(typeof statuses)[number], number>>
  /** 5xx, and requests that ended without a status. */
  readonly errors: number
  /** Null: not kept by what was asked for. */
  readonly bytesIn: number | null
  readonly bytesOut: number | null
  readonly retries: number | null
  readonly latency: Latency | null
  readonly firstByte: Latency | null
}

export interface Latency {
  readonly count: number
  readonly meanMs: number
  readonly percentilesMs: readonly number[]
}

export interface BreakdownPart {
  readonly names: Partial<BreakdownNames>
  readonly status: (typeof statuses)[number]
  readonly count: number
}

const names = ['status', 'method', 'protocol', 'outcome'] as const

/** Neither split nor filtered by what only a breakdown tells. */
export function isWhole(by: readonly string[], filter: BreakdownFilter): boolean {
  return !names.some((name) => by.includes(name) || filter[name] !== undefined)
}

export class AnalyticsSum {
  readonly #sum = new MeasureSum()

  addWhole(row: Measures): void {
    this.#sum.add(row)
  }

  addPart({ status, count }: BreakdownPart): void {
    this.#sum[status] += count
  }

  /** The parts of a row that pass the filter. Status alone is counted by nodes of every age. */
  static partsOf(row: Measures, by: readonly string[], filter: BreakdownFilter): BreakdownPart[] {
    const { status: _status, ...others } = filter
    const parts = isWhole(
      by.filter((name) => name !== 'status'),
      others,
    )
      ? partsByStatus(row)
      : partsByCode(row)
    return parts.filter((part) =>
      names.every((name) => filter[name]?.includes(part.names[name] ?? '') ?? true),
    )
  }

  toPoint(startMs: number, percentiles: readonly number[], isWholeRow: boolean): AnalyticsPoint {
    const sum = this.#sum
    return {
      time: new Date(startMs).toISOString(),
      requests: sum.requests,
      statuses: {
        informational: sum.informational,
        success: sum.success,
        redirection: sum.redirection,
        clientError: sum.clientError,
        serverError: sum.serverError,
        none: sum.none,
      },
      errors: sum.serverError + sum.none,
      bytesIn: isWholeRow ? sum.bytesIn : null,
      bytesOut: isWholeRow ? sum.bytesOut : null,
      retries: isWholeRow ? sum.retries : null,
      latency: isWholeRow ? latencyOf(sum.latency, percentiles) : null,
      firstByte: isWholeRow ? latencyOf(sum.firstByte, percentiles) : null,
    }
  }
}

function partsByStatus(row: Measures): BreakdownPart[] {
  const counts = {
    informational: row.informational,
    success: row.success,
    redirection: row.redirection,
    clientError: row.client_error,
    serverError: row.server_error,
    none: row.none,
  }
  return statuses
    .filter((status) => counts[status] > 0)
    .map((status) => ({ names: { status }, status, count: counts[status] }))
}

function partsByCode(row: Measures): BreakdownPart[] {
  const counts = new LatencyHistogram()
  counts.mergePacked(row.breakdown)
  const parts: BreakdownPart[] = []
  for (const [code, count] of counts.entries()) {
    const known = namesOf(code)
    if (known !== undefined) parts.push({ names: known, status: known.status, count })
  }
  return parts
}

function latencyOf(histogram: LatencyHistogram, percentiles: readonly number[]): Latency {
  return {
    count: histogram.count,
    meanMs: toMs(histogram.meanUs),
    percentilesMs: percentilesInOrder(histogram, percentiles).map(toMs),
  }
}

/** In the order that they were asked for in. */
function percentilesInOrder(histogram: LatencyHistogram, shares: readonly number[]): number[] {
  const ascending = [...shares].sort((one, other) => one - other)
  const values = histogram.percentilesUs(ascending)
  return shares.map((share) => values[ascending.indexOf(share)] ?? 0)
}

/** Milliseconds to the whole microsecond. */
function toMs(valueUs: number): number {
  return Math.round(valueUs) / 1_000
}

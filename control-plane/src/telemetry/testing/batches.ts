/** Batches as nodes send them, with plain numbers. For tests. */
import { type CounterBatch, type LogBatch, LogLine, Outcome, type TrafficRow } from '@sluice/proto'
import { bucketOf } from '../histogram.ts'

export const minuteMs = 60_000

export interface RowOfTest {
  readonly minute?: number
  readonly router?: string
  readonly service?: string
  readonly success?: number
  readonly serverError?: number
  readonly bytesIn?: number
  readonly bytesOut?: number
  readonly latenciesUs?: readonly number[]
  readonly breakdown?: TrafficRow['breakdown']
}

/** Counters of rows; `minute` counts minutes from `startMs`. */
export function counters(
  startMs: number,
  sequence: number,
  rows: readonly RowOfTest[],
  bootId = 'boot-1',
): CounterBatch {
  return { bootId, sequence: BigInt(sequence), rows: rows.map((row) => toRow(startMs, row)) }
}

export function logs(
  sequence: number,
  lines: readonly Partial<LogLine>[],
  bootId = 'boot-1',
): LogBatch {
  return {
    bootId,
    sequence: BigInt(sequence),
    notKept: 0n,
    lines: lines.map((line) => ({
      ...LogLine.create(),
      outcome: Outcome.ORIGIN_ANSWERED,
      status: 200,
      weight: 1,
      ...line,
    })),
  }
}

function toRow(startMs: number, row: RowOfTest): TrafficRow {
  const values = [...(row.latenciesUs ?? [])].sort((a, b) => a - b)
  const counts = new Map<number, bigint>()
  for (const value of values) {
    counts.set(bucketOf(value), (counts.get(bucketOf(value)) ?? 0n) + 1n)
  }
  const indices = [...counts.keys()]
  return {
    minuteMs: BigInt(startMs + (row.minute ?? 0) * minuteMs),
    router: row.router ?? 'shop',
    service: row.service ?? 'shop',
    requests: {
      informational: 0n,
      success: BigInt(row.success ?? 0),
      redirection: 0n,
      clientError: 0n,
      serverError: BigInt(row.serverError ?? 0),
      none: 0n,
    },
    bytesIn: BigInt(row.bytesIn ?? 0),
    bytesOut: BigInt(row.bytesOut ?? 0),
    latency: {
      indexDeltas: indices.map((index, at) => index - (indices[at - 1] ?? 0)),
      counts: [...counts.values()],
      sumUs: BigInt(values.reduce((sum, value) => sum + value, 0)),
    },
    breakdown: row.breakdown,
    firstByte: undefined,
    retries: 0n,
  }
}

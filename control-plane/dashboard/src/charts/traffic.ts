/** What the nodes counted, as series that charts can draw. */
import { useQuery } from '@tanstack/react-query'
import { call } from '../api/client.ts'
import type { Columns } from '../api/types.ts'

export const SPANS = [
  { name: '15 minutes', ms: 900_000, step: '1m' },
  { name: '1 hour', ms: 3_600_000, step: '1m' },
  { name: '6 hours', ms: 21_600_000, step: '5m' },
  { name: '1 day', ms: 86_400_000, step: '5m' },
  { name: '7 days', ms: 604_800_000, step: '1h' },
] as const
export type Span = (typeof SPANS)[number]

const flowMeasures = ['requests', 'errors', 'bytesIn', 'bytesOut', 'p50Ms', 'p99Ms']

/** Of the fleet or of one node, all measures. */
export function useFlow(span: Span, node?: string) {
  const of = node === undefined ? '' : `&node=${encodeURIComponent(node)}`
  const measures = flowMeasures.map((measure) => `&measure=${measure}`).join('')
  return useColumns(['flow', node ?? ''], span, `${of}${measures}`)
}

/** Requests alone, by node. */
export function useRequestsByNode(span: Span) {
  return useColumns(['by-node'], span, '&by=node&measure=requests')
}

function useColumns(key: readonly string[], span: Span, query: string) {
  return useQuery({
    queryKey: ['traffic', ...key, span.name],
    queryFn: () => {
      const toMs = Date.now()
      const range = `step=${span.step}&from=${toMs - span.ms}&to=${toMs}`
      return call<Columns>(`/analytics/columns?${range}${query}`)
    },
    placeholderData: (before) => before,
    // Comparing tens of thousands of numbers with those before costs more than drawing them.
    structuralSharing: false,
  })
}

export interface Flow {
  readonly timesMs: readonly number[]
  readonly requestsPerSecond: readonly number[]
  /** Null where there was no request. */
  readonly errorShare: readonly (number | null)[]
  readonly p50Ms: readonly (number | null)[]
  readonly p99Ms: readonly (number | null)[]
  readonly inPerSecond: readonly number[]
  readonly outPerSecond: readonly number[]
}

/** Of the first series, or of nothing. */
export function flowOf(answer: Columns, nowMs = Date.now()): Flow {
  const { timesMs, seconds } = stepsOf(answer, nowMs)
  const columns = answer.series[0]?.columns ?? {}
  const nothing = timesMs.map(() => null)
  const counts = (name: string) => columns[name] ?? nothing
  const rate = (name: string) => ratesOf(counts(name), seconds)
  const requests = counts('requests')
  return {
    timesMs,
    requestsPerSecond: rate('requests'),
    errorShare: counts('errors').map((errors, at) => {
      const total = requests[at] ?? 0
      return total === 0 ? null : (errors ?? 0) / total
    }),
    p50Ms: counts('p50Ms'),
    p99Ms: counts('p99Ms'),
    inPerSecond: rate('bytesIn'),
    outPerSecond: rate('bytesOut'),
  }
}

export interface NodeRequests {
  readonly node: string
  readonly requestsPerSecond: readonly number[]
}

/** For the many small charts: all share one list of times. */
export function requestsByNode(answer: Columns, nowMs = Date.now()) {
  const { timesMs, seconds } = stepsOf(answer, nowMs)
  const nodes = answer.series.map(({ key, columns }): NodeRequests => {
    return { node: key.node ?? '', requestsPerSecond: ratesOf(columns.requests ?? [], seconds) }
  })
  return { timesMs, nodes }
}

function ratesOf(counts: readonly (number | null)[], seconds: readonly number[]): number[] {
  return counts.map((count, at) => (count ?? 0) / (seconds[at] ?? 1))
}

function stepsOf({ from, to, stepMs }: Columns, nowMs: number) {
  const startMs = Date.parse(from)
  const length = Math.max(0, Math.round((Date.parse(to) - startMs) / stepMs))
  const timesMs = Array.from({ length }, (_, index) => startMs + index * stepMs)
  // The newest step is not over yet, so its rate is over the time that has passed of it.
  const seconds = timesMs.map((time) => Math.min(stepMs, Math.max(1_000, nowMs - time)) / 1_000)
  return { timesMs, seconds }
}

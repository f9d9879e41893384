/** What the nodes counted, as series that charts can draw. */
import { useQuery } from '@tanstack/react-query'
import { ApiProblem, call } from '../api/client.ts'
import type { Analytics, Traffic, TrafficPoint } from '../api/types.ts'

export const SPANS = [
  { name: '15 minutes', ms: 900_000, step: '1m' },
  { name: '1 hour', ms: 3_600_000, step: '1m' },
  { name: '6 hours', ms: 21_600_000, step: '5m' },
  { name: '1 day', ms: 86_400_000, step: '5m' },
  { name: '7 days', ms: 604_800_000, step: '1h' },
] as const
export type Span = (typeof SPANS)[number]

export type TrafficBy = 'node' | 'router' | 'service'

export function useTraffic(by: TrafficBy, span: Span) {
  return useQuery({
    queryKey: ['traffic', by, span.name],
    queryFn: () => {
      const toMs = Date.now()
      return call<Traffic>(
        `/analytics/traffic?by=${by}&step=${span.step}&from=${toMs - span.ms}&to=${toMs}`,
      )
    },
    placeholderData: (before) => before,
    // Comparing tens of thousands of points with those before costs more than drawing them.
    structuralSharing: false,
  })
}

/** Percentiles of all nodes together; null where the control plane does not merge them. */
export function useLatency(span: Span) {
  return useQuery({
    queryKey: ['traffic', 'latency', span.name],
    queryFn: async () => {
      const toMs = Date.now()
      const range = `step=${span.step}&from=${toMs - span.ms}&to=${toMs}`
      try {
        return await call<Analytics>(`/analytics?${range}&percentiles=0.5,0.99`)
      } catch (error) {
        if (error instanceof ApiProblem && error.status === 404) return null
        throw error
      }
    },
    placeholderData: (before) => before,
  })
}

/** A flow with these percentiles in place of the highest ones. */
export function withLatency(flow: Flow, { series }: Analytics): Flow {
  const found = new Map(
    series.flatMap(({ points }) =>
      points.map(({ time, latency }) => [Date.parse(time), latency?.percentilesMs] as const),
    ),
  )
  const read = (index: number) => flow.timesMs.map((time) => found.get(time)?.[index] ?? null)
  return { ...flow, p50Ms: read(0), p99Ms: read(1) }
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

/**
 * Adds the series up on the steps of the answer; where there is no point nothing came. Percentiles cannot
 * be added: of several series the highest is taken.
 */
export function flowOf(traffic: Traffic, series: Traffic['series'], nowMs = Date.now()): Flow {
  const { timesMs, points, seconds } = stepsOf(traffic, series, nowMs)
  const rate = (read: (point: TrafficPoint) => number) =>
    points.map((here, index) => sum(here, read) / (seconds[index] ?? 1))
  return {
    timesMs,
    requestsPerSecond: rate(({ requests }) => requests.total),
    errorShare: points.map(errorShareOf),
    p50Ms: points.map((here) => highest(here, 'p50Ms')),
    p99Ms: points.map((here) => highest(here, 'p99Ms')),
    inPerSecond: rate(({ bytesIn }) => bytesIn),
    outPerSecond: rate(({ bytesOut }) => bytesOut),
  }
}

/** Of one series, requests alone: for the many small charts. */
export function requestsOf(
  traffic: Traffic,
  series: Traffic['series'][number],
  nowMs = Date.now(),
): Pick<Flow, 'timesMs' | 'requestsPerSecond'> {
  const { timesMs, points, seconds } = stepsOf(traffic, [series], nowMs)
  const requestsPerSecond = points.map(
    (here, index) => (here[0]?.requests.total ?? 0) / (seconds[index] ?? 1),
  )
  return { timesMs, requestsPerSecond }
}

function stepsOf(traffic: Traffic, series: Traffic['series'], nowMs: number) {
  const { stepMs } = traffic
  const startMs = Math.ceil(Date.parse(traffic.from) / stepMs) * stepMs
  const length = Math.max(0, Math.ceil((Date.parse(traffic.to) - startMs) / stepMs))
  const timesMs = Array.from({ length }, (_, index) => startMs + index * stepMs)
  const points = Array.from({ length }, (): TrafficPoint[] => [])
  for (const one of series) {
    for (const point of one.points) {
      points[Math.floor((Date.parse(point.time) - startMs) / stepMs)]?.push(point)
    }
  }
  // The newest step is not over yet, so its rate is over the time that has passed of it.
  const seconds = timesMs.map((time) => Math.min(stepMs, Math.max(1_000, nowMs - time)) / 1_000)
  return { timesMs, points, seconds }
}

function sum(points: readonly TrafficPoint[], read: (point: TrafficPoint) => number): number {
  return points.reduce((total, point) => total + read(point), 0)
}

function errorShareOf(points: readonly TrafficPoint[]): number | null {
  const total = sum(points, ({ requests }) => requests.total)
  if (total === 0) return null
  return sum(points, ({ requests }) => requests.serverError + requests.none) / total
}

function highest(points: readonly TrafficPoint[], field: 'p50Ms' | 'p99Ms'): number | null {
  const values = points
    .filter(({ latency }) => latency.count > 0)
    .map(({ latency }) => latency[field])
  return values.length === 0 ? null : Math.max(...values)
}

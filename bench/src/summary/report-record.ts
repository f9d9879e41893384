/** report.json: all that the tables and the page show, made from the artifacts and from nothing else. */
import type { Environment, ParityRecord, Plan, SCHEMA, ScenarioPlan } from '../artifacts/records.ts'
import type { Action } from '../honesty/honesty-test.ts'
import type { Interval, Summary } from './bootstrap.ts'

export interface Footnote {
  readonly number: number
  readonly test: number
  readonly action: Action
  readonly proxy: string | null
  readonly scenario: string | null
  readonly text: string
}

/** In µs: medians over the rounds, but stdev and min of all of them; null: too few samples, or not kept. */
export interface LatencyCell {
  readonly mean: number
  readonly stdev: number | null
  readonly min: number | null
  readonly p50: number
  readonly p75: number
  readonly p90: number
  readonly p95: number
  readonly p99: number | null
  readonly p999: number | null
  readonly max: number
  readonly isFloor: boolean
}

export interface Ratio extends Interval {
  readonly median: number
  readonly values: readonly number[]
}

/** One proxy in one scenario. */
export interface Cell {
  readonly proxy: string
  readonly scenario: string
  readonly rounds: number
  /** Good answers per second; in a ramp the most that was sustained. */
  readonly rps: Summary | null
  readonly allRps: number
  /** By what zrk calls sustained. */
  readonly zrkSustained: number | null
  readonly ratio: Ratio | null
  readonly cpuUs: Summary | null
  readonly cpuRatio: Ratio | null
  readonly p99Ratio: Ratio | null
  readonly busy: number | null
  /** Rate over this proxy's capacity, or its busy share where that is not known. */
  readonly utilisation: number | null
  readonly bound: string
  /** Good answers per second over the busy share: what it might reach alone on its CPU. */
  readonly ceiling: number | null
  readonly isTie: boolean
  readonly isRanked: boolean
  readonly rank: number | null
  readonly latency: Readonly<Record<'service' | 'release' | 'sched', LatencyCell>> | null
  readonly tailMeansUs: Readonly<Record<string, number>> | null
  readonly lagUs: { readonly p50: number; readonly p99: number } | null
  /** In bytes; `after` is 30 s after the load. */
  readonly memory: Readonly<Record<'idle' | 'loaded' | 'after', number | null>>
  readonly answers: {
    readonly good: number
    readonly class3: number
    readonly class4: number
    readonly class5: number
    readonly errors: number
    readonly connectErrors: number
    readonly timeouts: number
    readonly unsent: number
    readonly goodShare: number
  }
  readonly bytes: number
  readonly seconds: number
  readonly noisyRounds: number
  readonly footnotes: readonly number[]
}

export interface ScenarioReport {
  readonly plan: ScenarioPlan
  /** Most that two measurements of the reference in one round differed. */
  readonly noiseFloor: number | null
  readonly isInconclusive: boolean
  readonly direct: Cell | null
  readonly cells: readonly Cell[]
}

export interface ProxyReport {
  readonly name: string
  readonly title: string
  readonly version: string
  readonly status: 'ok' | 'degraded' | 'failed' | 'missing'
  readonly reason: string
}

export type Point = readonly [number, number]

/** A line of a chart; null breaks it. */
export interface Curve {
  readonly proxy: string
  readonly points: readonly (Point | null)[]
}

export interface RampReport {
  readonly scenario: string
  readonly rps: readonly Curve[]
  readonly cpu: readonly Curve[]
  readonly p99: readonly Curve[]
  readonly shed: readonly Curve[]
  readonly offeredMax: number
}

/** By percentile: x is 1/(1−p), y is ms. */
export interface DistributionReport {
  readonly proxy: string
  readonly scenario: string
  readonly clocks: Readonly<Record<'service' | 'release' | 'sched', readonly Point[]>>
  readonly file: string | null
}

export interface StripReport {
  readonly proxy: string
  readonly scenario: string
  readonly round: number
  readonly role: string
  readonly isNoisy: boolean
  readonly rps: readonly number[]
  readonly p99Us: readonly number[]
  readonly foreign: readonly (number | null)[]
}

export interface Difference {
  readonly scenario: string
  readonly metric: string
  readonly left: number
  readonly right: number
  readonly change: number
  readonly interval: Interval | null
  readonly isTie: boolean
}

export interface Comparison {
  readonly left: string
  readonly right: string
  readonly rows: readonly Difference[]
}

export interface Report {
  readonly schema: typeof SCHEMA
  readonly runId: string
  readonly finishedAtMs: number
  readonly verdict: string
  readonly banners: readonly string[]
  readonly method: readonly string[]
  readonly noiseFloor: number | null
  readonly repeatedRuns: number
  readonly runs: number
  readonly proxies: readonly ProxyReport[]
  readonly scenarios: readonly ScenarioReport[]
  readonly ramps: readonly RampReport[]
  readonly distributions: readonly DistributionReport[]
  readonly strips: readonly StripReport[]
  readonly comparison: Comparison | null
  readonly footnotes: readonly Footnote[]
  readonly isFailed: boolean
  readonly parity: readonly ParityRecord[]
  readonly environment: Environment
  readonly plan: Plan
}

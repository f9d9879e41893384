/**
 * What all connections of one worker share: the output buffer, the parsers, the clock, the counts and the
 * configuration that new exchanges begin with. Made once by the worker's composition root.
 */
import type { DeadlineSweep } from './deadline-sweep.ts'
import type { HeadParser } from './http1/head-parser.ts'
import type { OutputBuffer } from './http1/output-buffer.ts'
import type { Gauges } from './observe/gauges.ts'
import type { LogSampler } from './observe/log-sampler.ts'
import type { TrafficCounter } from './observe/traffic-counters.ts'
import type { WallClock } from './observe/wall-clock.ts'
import type { Warnings } from './observe/warnings.ts'
import type { UpstreamService } from './upstreams/upstream-service.ts'

/** A router as requests use it. */
export interface Route {
  readonly router: string
  readonly service: string
  readonly upstreams: UpstreamService
  readonly counter: TrafficCounter
  readonly isDraining: boolean
}

export interface Engine {
  readonly output: OutputBuffer
  readonly requestHead: HeadParser
  readonly answerHead: HeadParser
  readonly deadlines: DeadlineSweep
  readonly gauges: Gauges
  readonly sampler: LogSampler
  readonly warnings: Warnings
  /** Counts what no router took. */
  readonly unroutedCounter: TrafficCounter
  /** Monotonic milliseconds, with fractions. */
  readonly now: () => number
  readonly wallClock: WallClock
  /** True: answers end their connections. */
  isDraining: boolean
}

/** All micro benchmarks, in the order of their table. */
import { headParserBenchmark } from './data-plane/src/worker/http1/head-parser.bench.ts'
import { logSamplerBenchmark } from './data-plane/src/worker/observe/log-sampler.bench.ts'
import { trafficCountersBenchmark } from './data-plane/src/worker/observe/traffic-counters.bench.ts'
import { routeTableBenchmark } from './matching/src/route-table.bench.ts'
import type { MicroBenchmark } from './micro-benchmark.ts'

export const benchmarks: readonly MicroBenchmark[] = [
  headParserBenchmark,
  routeTableBenchmark,
  trafficCountersBenchmark,
  logSamplerBenchmark,
]

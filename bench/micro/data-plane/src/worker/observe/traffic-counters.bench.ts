/** Counting an exchange, with one router in use and with 10,000 in turn, and the report of a second. */
import { Outcome } from '@sluice/proto'
import {
  breakdownCode,
  statusClassOf,
} from '../../../../../../data-plane/src/worker/observe/breakdown.ts'
import {
  type TrafficCounter,
  TrafficCounters,
} from '../../../../../../data-plane/src/worker/observe/traffic-counters.ts'
import type { MicroBenchmark, MicroCase } from '../../../../micro-benchmark.ts'

const OPERATIONS = 10_000
const BYTES_IN = 120
const BYTES_OUT = 1_240
/** From 40 µs up, so that several buckets of the latency histogram are in use. */
const DURATION_US_MIN = 40
const DURATIONS = 1_000

function addTo(counters: readonly TrafficCounter[]): void {
  for (let count = 0; count < OPERATIONS; count += 1) {
    const durationUs = DURATION_US_MIN + (count % DURATIONS)
    const counter = counters[count % counters.length]
    const code = breakdownCode(Outcome.ORIGIN_ANSWERED, 'GET', 1, statusClassOf(200))
    counter?.add(code, BYTES_IN, BYTES_OUT, durationUs)
    counter?.addAnswer(durationUs - 1)
  }
}

function counting(routers: number): MicroCase {
  const all = new TrafficCounters()
  let counters: TrafficCounter[] | undefined
  return {
    name: `an exchange of ${routers.toLocaleString('en')} router${routers === 1 ? '' : 's'} in turn`,
    operations: OPERATIONS,
    run: () => {
      counters ??= Array.from({ length: routers }, (_, router) => all.of(`r${router}`, 'service'))
      addTo(counters)
      return counters.filter(({ isUsed }) => isUsed).length
    },
  }
}

/** One operation is one router's delta; each had one exchange since the last report. */
function reporting(): MicroCase {
  const all = new TrafficCounters()
  let counters: TrafficCounter[] | undefined
  return {
    name: 'an exchange and its share of a report, 10,000 routers',
    operations: OPERATIONS,
    run: () => {
      counters ??= Array.from({ length: OPERATIONS }, (_, router) =>
        all.of(`r${router}`, 'service'),
      )
      addTo(counters)
      const { numbers, pairs } = all.take(0)
      return numbers.length + pairs.length
    },
  }
}

export const trafficCountersBenchmark: MicroBenchmark = {
  source: 'data-plane/src/worker/observe/traffic-counters.ts',
  cases: [counting(1), counting(10_000), reporting()],
}

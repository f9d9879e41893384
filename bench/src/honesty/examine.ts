/** All 28 tests over one record. `check DIR` prints each; the report numbers what they found. */
import type { Artifacts } from '../artifacts/records.ts'
import {
  errorsAreNoThroughput,
  everyRequestIsAccountedFor,
  percentilesAreWhatTheySay,
  saturatedHistogramIsAFloor,
  tailsHaveSamples,
  theOriginAnswered,
  workIsNotShedElsewhere,
} from './answers.ts'
import {
  backlogsAreEqual,
  buildsAreReleases,
  configurationsAreShown,
  logsDoNotBlock,
  processorIsEqual,
  theRightProcessListens,
  tlsIsEqual,
  workIsEqual,
} from './equal-work.ts'
import type { Finding, HonestyTest } from './honesty-test.ts'
import {
  closedLoopsHaveNoLatency,
  noBestOfN,
  pacingIsEven,
  ratesAreReachable,
  theGeneratorIsInTime,
  theProxyIsTheLimit,
  utilisationIsEqual,
  warmUpIsOver,
} from './load.ts'
import {
  clocksAreTheCounters,
  localIsSaidAloud,
  memoryIsPrivate,
  theMachineIsQuiet,
  thePortsSuffice,
} from './machine.ts'

export const HONESTY_TESTS: readonly HonestyTest[] = [
  errorsAreNoThroughput,
  theProxyIsTheLimit,
  closedLoopsHaveNoLatency,
  pacingIsEven,
  theGeneratorIsInTime,
  utilisationIsEqual,
  saturatedHistogramIsAFloor,
  percentilesAreWhatTheySay,
  everyRequestIsAccountedFor,
  tailsHaveSamples,
  workIsEqual,
  tlsIsEqual,
  theOriginAnswered,
  workIsNotShedElsewhere,
  processorIsEqual,
  theRightProcessListens,
  clocksAreTheCounters,
  memoryIsPrivate,
  theMachineIsQuiet,
  noBestOfN,
  warmUpIsOver,
  thePortsSuffice,
  backlogsAreEqual,
  buildsAreReleases,
  configurationsAreShown,
  localIsSaidAloud,
  ratesAreReachable,
  logsDoNotBlock,
]

export function examine(artifacts: Artifacts): Finding[] {
  return HONESTY_TESTS.flatMap(({ number, name, look }) =>
    look(artifacts).map((observation) => ({ test: number, name, ...observation })),
  )
}

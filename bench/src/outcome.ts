/** What the rounds of one scenario say together, and how far they can be trusted. */
import type { Measurement } from './measurement.ts'
import type { Scenario } from './scenarios.ts'
import { type Spread, spreadOf } from './statistics.ts'
import type { SubjectName } from './subject.ts'

/** Most that nginx's own cost may differ between rounds, as a share of its median. */
const SPREAD_MAX = 0.2
/** Below this share of its CPU a proxy waited for the load or the origin. */
const BUSY_MIN = 0.85
/** Above this share other programs had the proxies' CPU. */
const DELAYED_MAX = 0.05
/** Lateness of the generator, at p99, from which its latencies are no longer the proxy's. */
const LATENESS_US_MAX = 500

/** One measurement of each proxy. */
export type Round = Readonly<Record<SubjectName, Measurement>>

export interface Outcome {
  readonly scenario: Scenario
  readonly rounds: readonly Round[]
  readonly directRequestsPerSecond: number
  /** Our worker's CPU per request as a share of nginx's in the same round. */
  readonly ratio: Spread
  /** The same with our supervisor's CPU. */
  readonly nodeRatio: Spread
  readonly haproxyRatio: Spread
  readonly p99Ratio: Spread | undefined
  readonly haproxyP99Ratio: Spread | undefined
  readonly isMet: boolean
  readonly isAimReached: boolean
  /** Why the figures are to be doubted; none: not noisy. */
  readonly doubts: readonly string[]
}

export function concludeFrom(
  scenario: Scenario,
  rounds: readonly Round[],
  directRequestsPerSecond: number,
): Outcome {
  const over = (figure: (round: Round) => number) => spreadOf(rounds.map(figure))
  const ratio = over(({ sluice, nginx }) => sluice.workerUs / nginx.workerUs)
  const isSteady = scenario.perSecond !== undefined
  const p99Ratio = isSteady ? over(({ sluice, nginx }) => p99(sluice) / p99(nginx)) : undefined
  const isWithin = (bound: 'must' | 'aim') =>
    ratio.median <= scenario.cpu[bound] &&
    (p99Ratio === undefined || scenario.p99 === undefined || p99Ratio.median <= scenario.p99[bound])
  return {
    scenario,
    rounds,
    directRequestsPerSecond,
    ratio,
    nodeRatio: over(
      ({ sluice, nginx }) => (sluice.workerUs + sluice.supervisorUs) / nginx.workerUs,
    ),
    haproxyRatio: over(({ haproxy, nginx }) => haproxy.workerUs / nginx.workerUs),
    p99Ratio,
    haproxyP99Ratio: isSteady ? over(({ haproxy, nginx }) => p99(haproxy) / p99(nginx)) : undefined,
    isMet: isWithin('must'),
    isAimReached: isWithin('aim'),
    doubts: doubtsAbout(scenario, rounds),
  }
}

function p99({ steady }: Measurement): number {
  return steady?.latencyUs.p99 ?? Number.NaN
}

function doubtsAbout({ perSecond }: Scenario, rounds: readonly Round[]): string[] {
  const doubts: string[] = []
  const nginx = spreadOf(rounds.map((round) => round.nginx.workerUs))
  const spread = (nginx.most - nginx.least) / nginx.median
  if (spread > SPREAD_MAX) doubts.push(`nginx's own cost differed by ${percent(spread)}`)
  for (const name of ['sluice', 'nginx'] as const) {
    const busy = spreadOf(rounds.map((round) => round[name].busy)).least
    if (perSecond === undefined && busy < BUSY_MIN) {
      doubts.push(`${name} used only ${percent(busy)} of its CPU in a round`)
    }
    const delayed = spreadOf(rounds.map((round) => round[name].delayed)).most
    if (delayed > DELAYED_MAX) {
      doubts.push(`other programs took ${name}'s CPU for ${percent(delayed)} of a round`)
    }
  }
  return [...doubts, ...doubtsAboutGenerator(rounds)]
}

function doubtsAboutGenerator(rounds: readonly Round[]): string[] {
  const reports = rounds
    .flatMap((round) => Object.values(round))
    .flatMap(({ steady }) => (steady === undefined ? [] : [steady]))
  if (reports.length === 0) return []
  const latest = spreadOf(reports.map(({ latenessUs }) => latenessUs.p99)).most
  const unanswered = reports.reduce((sum, report) => sum + report.unanswered, 0)
  return [
    ...(latest > LATENESS_US_MAX
      ? [`the generator was late by ${(latest / 1000).toFixed(1)} ms (p99) in a round`]
      : []),
    ...(unanswered > 0 ? [`${unanswered} requests were not answered in time`] : []),
  ]
}

export function percent(value: number): string {
  return `${Math.round(value * 100)} %`
}

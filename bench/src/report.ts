/** The outcomes as a table for people, and as a record for programs. */
import { type Outcome, percent, type Round } from './outcome.ts'
import type { Machine } from './requirements.ts'
import { CONNECTIONS, type Target } from './scenarios.ts'
import type { Settings } from './settings.ts'
import { type Spread, spreadOf } from './statistics.ts'
import type { TlsFacts } from './tls-probe.ts'

export function render(outcomes: readonly Outcome[]): string {
  const header = ['', 'must', 'aim', 'measured', '', 'HAProxy', 'µs: ours', 'nginx', 'HAProxy']
  const rows = outcomes.flatMap((outcome) => [cpuRow(outcome), ...p99Rows(outcome)])
  return [
    '',
    `CPU per request, nginx = 1; ${CONNECTIONS} connections; medians of the rounds' ratios (least to most)`,
    '',
    ...columns([header, ...rows]),
    '',
    ...outcomes.map(inDetail),
    ...outcomes.flatMap(({ scenario, doubts }) =>
      doubts.map((doubt) => `NOISY ${scenario.key}: ${doubt}`),
    ),
    '',
  ].join('\n')
}

export function describeMachine(machine: Machine, settings: Settings): string {
  const versions = Object.entries(machine.versions).map(([name, value]) => `${name} ${value}`)
  return [
    `${machine.cpu}, Linux ${machine.kernel}; proxies on CPU ${machine.proxyCpu}, origin and load on ${machine.otherCpus}`,
    versions.join(', '),
    `${settings.rounds} rounds of ${settings.seconds} s for each proxy; every node with its defaults: counters and log lines on`,
    '',
  ].join('\n')
}

export function describeTls(name: string, facts: TlsFacts): string {
  const resumed = facts.isResumed ? 'resumed' : 'NOT resumed'
  const renewed = facts.isRenewed ? 'renewed' : 'NOT renewed'
  return `TLS of ${name}: ${facts.version}, ${facts.cipher}, sessions ${resumed}, then tickets ${renewed}\n`
}

function cpuRow({ scenario, ratio, haproxyRatio, rounds, isMet, isAimReached }: Outcome): string[] {
  const cost = (name: keyof Round) => medianOf(rounds, (round) => round[name].workerUs).toFixed(1)
  return [
    scenario.title,
    ...inWords(scenario.cpu),
    range(ratio),
    verdict(isMet, isAimReached),
    haproxyRatio.median.toFixed(2),
    cost('sluice'),
    cost('nginx'),
    cost('haproxy'),
  ]
}

function p99Rows({ scenario, p99Ratio, haproxyP99Ratio, rounds }: Outcome): string[][] {
  if (scenario.p99 === undefined || p99Ratio === undefined) return []
  const cost = (name: keyof Round) => Math.round(medianOf(rounds, latencyP99(name))).toString()
  return [
    [
      '  its p99, nginx = 1',
      ...inWords(scenario.p99),
      range(p99Ratio),
      verdict(p99Ratio.median <= scenario.p99.must, p99Ratio.median <= scenario.p99.aim),
      haproxyP99Ratio?.median.toFixed(2) ?? '',
      cost('sluice'),
      cost('nginx'),
      cost('haproxy'),
    ],
  ]
}

function inWords({ must, aim }: Target): [string, string] {
  return [must.toFixed(2), aim.toFixed(2)]
}

function verdict(isMet: boolean, isAimReached: boolean): string {
  if (!isMet) return 'NOT met'
  return isAimReached ? 'met, aim reached' : 'met'
}

function inDetail({ scenario, rounds, nodeRatio, directRequestsPerSecond }: Outcome): string {
  const each = (figure: (name: keyof Round) => string) =>
    `ours ${figure('sluice')}, nginx ${figure('nginx')}, HAProxy ${figure('haproxy')}`
  const perSecond = each((name) =>
    whole(medianOf(rounds, (round) => round[name].requestsPerSecond)),
  )
  const busy = each((name) => percent(medianOf(rounds, (round) => round[name].busy)))
  const lateness = rounds
    .flatMap((round) => Object.values(round))
    .flatMap(({ steady }) => (steady === undefined ? [] : [steady.latenessUs.p99]))
  const late =
    lateness.length === 0
      ? ''
      : `; generator late by ${Math.round(spreadOf(lateness).median)} µs (p99)`
  return `${scenario.key}: requests per second ${perSecond}, origin alone ${whole(directRequestsPerSecond)}; CPU used ${busy}; with our supervisor ${nodeRatio.median.toFixed(2)}${late}`
}

/** One member for each scenario, by its key. */
export function recordOf(outcomes: readonly Outcome[]): Record<string, unknown> {
  return Object.fromEntries(outcomes.map((outcome) => [outcome.scenario.key, figuresOf(outcome)]))
}

function figuresOf(outcome: Outcome): Record<string, unknown> {
  const { scenario, rounds, ratio, p99Ratio } = outcome
  const cpuUs = (name: keyof Round) => round2(medianOf(rounds, (round) => round[name].workerUs))
  return {
    ratio: round2(ratio.median),
    min: round2(ratio.least),
    max: round2(ratio.most),
    ourCpuUs: cpuUs('sluice'),
    nginxCpuUs: cpuUs('nginx'),
    noisy: outcome.doubts.length > 0,
    must: scenario.cpu.must,
    aim: scenario.cpu.aim,
    met: outcome.isMet,
    haproxyRatio: round2(outcome.haproxyRatio.median),
    haproxyCpuUs: cpuUs('haproxy'),
    supervisorCpuUs: round2(medianOf(rounds, ({ sluice }) => sluice.supervisorUs)),
    ...(p99Ratio === undefined
      ? {}
      : {
          p99Ratio: round2(p99Ratio.median),
          p99RatioMin: round2(p99Ratio.least),
          p99RatioMax: round2(p99Ratio.most),
          ourP99Us: Math.round(medianOf(rounds, latencyP99('sluice'))),
          nginxP99Us: Math.round(medianOf(rounds, latencyP99('nginx'))),
          haproxyP99Us: Math.round(medianOf(rounds, latencyP99('haproxy'))),
        }),
    directRequestsPerSecond: Math.round(outcome.directRequestsPerSecond),
    doubts: outcome.doubts,
    rounds,
  }
}

function latencyP99(name: keyof Round): (round: Round) => number {
  return (round) => round[name].steady?.latencyUs.p99 ?? Number.NaN
}

function medianOf(rounds: readonly Round[], figure: (round: Round) => number): number {
  return spreadOf(rounds.map(figure)).median
}

/** Left-aligned first column, the others as wide as they must be. */
export function columns(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_cell, column) =>
    Math.max(...rows.map((row) => row[column]?.length ?? 0)),
  )
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  )
}

export function range({ median, least, most }: Spread): string {
  return `${median.toFixed(2)} (${least.toFixed(2)} to ${most.toFixed(2)})`
}

function round2(value: number): number {
  return Math.round(value * 100) / 100
}

export function whole(value: number): string {
  return Math.round(value).toLocaleString('en')
}

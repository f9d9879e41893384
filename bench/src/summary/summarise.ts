/** From artifacts to report.json: cells, ranks, ties, footnotes, banners and the sentence at the top. */
import { type Artifacts, countedRuns, SCHEMA, type ScenarioPlan } from '../artifacts/records.ts'
import { examine } from '../honesty/examine.ts'
import { type Finding, percent } from '../honesty/honesty-test.ts'
import { noiseOf } from '../honesty/machine.ts'
import {
  type CellContext,
  cellOf,
  contextOf,
  cpuUsOf,
  type Measure,
  noiseFloorOf,
  throughputOf,
} from './cells.ts'
import { comparisonOf } from './comparison.ts'
import { distributionsOf } from './distributions.ts'
import { methodOf } from './method.ts'
import { rampReportOf } from './ramps.ts'
import type {
  Cell,
  Footnote,
  ProxyReport,
  Report,
  ScenarioReport,
  StripReport,
} from './report-record.ts'

const STRIPS_MAX = 120

export function summarise(artifacts: Artifacts): Report {
  const footnotes = footnotesOf(examine(artifacts))
  const { plan, environment, parity, outcome } = artifacts
  const scenarios = withUtilisation(
    plan.scenarios.map((scenario) => scenarioReportOf(artifacts, scenario, footnotes)),
  )
  const floors = scenarios.flatMap(({ noiseFloor }) => noiseFloor ?? [])
  const noiseFloor = floors.length === 0 ? null : Math.max(...floors)
  const proxies = plan.proxies.map((name) => proxyReportOf(artifacts, name))
  return {
    schema: SCHEMA,
    runId: plan.runId,
    finishedAtMs: outcome.finishedAtMs,
    verdict: verdictOf(artifacts, scenarios),
    banners: bannersOf(artifacts, footnotes),
    method: methodOf(artifacts),
    noiseFloor,
    repeatedRuns: artifacts.runs.filter(({ attempt }) => attempt > 0).length,
    runs: artifacts.runs.length,
    proxies,
    scenarios,
    ramps: plan.scenarios
      .filter(({ kind }) => kind === 'ramp')
      .flatMap(({ key }) => rampReportOf(artifacts, key) ?? []),
    distributions: distributionsOf(artifacts),
    strips: stripsOf(artifacts),
    comparison: comparisonOf(artifacts),
    footnotes,
    isFailed: footnotes.some(({ action }) => action === 'fail'),
    parity: parity.proxies,
    environment,
    plan,
  }
}

/** The same text once, and what is worst first. */
function footnotesOf(findings: readonly Finding[]): Footnote[] {
  const order = { fail: 0, 'no-rank': 1, note: 2 }
  const known = new Map<string, Finding>()
  for (const finding of findings) known.set(finding.text, finding)
  return [...known.values()]
    .toSorted((left, right) => order[left.action] - order[right.action] || left.test - right.test)
    .map(({ test, action, proxy = null, scenario = null, text }, index) => {
      return { number: index + 1, test, action, proxy, scenario, text }
    })
}

function scenarioReportOf(
  artifacts: Artifacts,
  scenario: ScenarioPlan,
  footnotes: readonly Footnote[],
): ScenarioReport {
  const context = contextOf(artifacts, scenario)
  const measure = judgedBy(context)
  const noiseFloor = noiseFloorOf(context, measure)
  const isInconclusive = footnotes.some(
    ({ action, proxy, scenario: of }) =>
      action === 'no-rank' && proxy === null && of === scenario.key,
  )
  const cells = artifacts.plan.proxies.flatMap((proxy) => {
    const cell = cellOf(context, proxy, 'measured')
    if (cell === null) return []
    const own = footnotes.filter((note) => concerns(note, proxy, scenario.key))
    const isWithheld =
      isInconclusive ||
      cell.answers.good === 0 ||
      cell.bound === 'generator' ||
      own.some(({ action }) => action !== 'note')
    const isTie = proxy !== artifacts.plan.reference && isTied(context, cell, noiseFloor)
    return [{ ...cell, isTie, isRanked: !isWithheld, footnotes: own.map(({ number }) => number) }]
  })
  return {
    plan: scenario,
    noiseFloor,
    isInconclusive,
    direct: scenario.hasDirect ? cellOf(context, 'direct', 'direct') : null,
    cells: ranked(cells, scenario),
  }
}

/** A steady rate is the same for all by design, so that what a request costs is what differs. */
function judgedBy(context: CellContext): Measure {
  return context.scenario.kind === 'steady' ? cpuUsOf : throughputOf(context)
}

/** Smaller than twice what the reference differs from itself, or ranges that overlap: nobody is ahead. */
function isTied(context: CellContext, cell: Cell, noiseFloor: number | null): boolean {
  const isSteady = context.scenario.kind === 'steady'
  const ratio = isSteady ? cell.cpuRatio : cell.ratio
  if (ratio === null) return false
  if (noiseFloor !== null && Math.abs(ratio.median - 1) < 2 * noiseFloor) return true
  const reference = cellOf(context, context.artifacts.plan.reference, 'measured')
  const left = isSteady ? cell.cpuUs : cell.rps
  const right = isSteady ? reference?.cpuUs : reference?.rps
  if (!left || !right) return false
  return left.min <= right.max && right.min <= left.max
}

function concerns(note: Footnote, proxy: string, scenario: string): boolean {
  if (note.proxy === null) return false
  return note.proxy === proxy && (note.scenario === null || note.scenario === scenario)
}

function ranked(cells: readonly Cell[], scenario: ScenarioPlan): Cell[] {
  const value = (cell: Cell) =>
    scenario.kind === 'steady' ? -(cell.cpuUs?.median ?? Number.MAX_VALUE) : (cell.rps?.median ?? 0)
  const order = cells
    .filter(({ isRanked }) => isRanked)
    .toSorted((left, right) => value(right) - value(left))
  return cells
    .map((cell) => ({ ...cell, rank: cell.isRanked ? order.indexOf(cell) + 1 : null }))
    .toSorted((left, right) => value(right) - value(left))
}

/** The rate of a steady run over what the same proxy answers without a rate. */
function withUtilisation(scenarios: readonly ScenarioReport[]): ScenarioReport[] {
  const capacity = scenarios.find(({ plan }) => plan.key === 'http1k' || plan.key === 'capacity')
  return scenarios.map((scenario) => {
    if (scenario.plan.kind !== 'steady') return scenario
    const cells = scenario.cells.map((cell) => {
      const limit = capacity?.cells.find(({ proxy }) => proxy === cell.proxy)?.rps?.median
      const share = limit === undefined || limit === 0 ? cell.busy : cell.allRps / limit
      return { ...cell, utilisation: share }
    })
    return { ...scenario, cells }
  })
}

function proxyReportOf(
  { plan, environment, parity, outcome, runs }: Artifacts,
  name: string,
): ProxyReport {
  const known = parity.proxies.find(({ proxy }) => proxy === name)
  const title = known?.title ?? name
  const version = known?.version ?? ''
  const missing = environment.missing[name]
  if (missing !== undefined) return { name, title, version, status: 'missing', reason: missing }
  const failures = outcome.failures.filter(({ proxy }) => proxy === name)
  const measured = new Set(
    runs
      .filter(({ proxy, role }) => proxy === name && role === 'measured')
      .map(({ scenario }) => scenario),
  )
  const [failure] = failures
  const reason = failure === undefined ? '' : `${failure.stage}: ${failure.error}`
  if (measured.size === 0) return { name, title, version, status: 'failed', reason }
  const isWhole = failures.length === 0 && plan.scenarios.every(({ key }) => measured.has(key))
  return { name, title, version, status: isWhole ? 'ok' : 'degraded', reason }
}

function bannersOf(
  { plan, environment, outcome }: Artifacts,
  notes: readonly Footnote[],
): string[] {
  const banners: string[] = []
  if (notes.some(({ action }) => action === 'fail')) {
    banners.push('This run failed its own tests and is not to be used: see the footnotes.')
  }
  if (environment.isLocal) {
    banners.push(`Local run, not a benchmark of a network: ${environment.layout}.`)
  }
  if (outcome.end !== 'complete') {
    const why =
      outcome.end === 'budget' ? 'the time allowed was over' : `it ended early (${outcome.end})`
    banners.push(`Not all rounds were measured: ${why}.`)
  }
  if (notes.some(({ test, action }) => test === 20 && action === 'note')) {
    banners.push('Fewer than 5 rounds: medians of so few say little.')
  }
  if (notes.some(({ test, proxy }) => test === 19 && proxy === null)) {
    banners.push(
      'Noisy: other programs disturbed more than a third of the rounds of some scenario.',
    )
  }
  if (notes.some(({ test, action }) => test === 2 && action === 'no-rank')) {
    banners.push('Some figures are bound by the load generator: those are floors, marked ≥.')
  }
  if (plan.isStock)
    banners.push('Stock settings: no proxy has what its template sets beyond its own defaults.')
  return banners
}

function verdictOf({ plan }: Artifacts, scenarios: readonly ScenarioReport[]): string {
  const [main] = scenarios.filter(({ cells }) => cells.length > 0)
  const own = main?.cells.find(({ proxy }) => proxy === plan.subject)
  if (main === undefined) return 'Nothing was measured.'
  if (own === undefined) return `${plan.subject} was not measured.`
  const ratio = main.plan.kind === 'steady' ? own.cpuRatio : own.ratio
  const what = main.plan.kind === 'steady' ? 'CPU per request' : 'good answers per second'
  if (main.isInconclusive) return `Inconclusive: ${main.plan.title} was disturbed.`
  if (own.answers.good === 0) return `${plan.subject} gave no good answer.`
  if (ratio === null) return `${plan.subject} was measured without ${plan.reference} beside it.`
  if (plan.subject === plan.reference) return `${plan.subject} is the reference.`
  const by = own.isTie ? 'a tie with' : `× ${ratio.median.toFixed(2)} of`
  const limit = own.bound === 'generator' ? ' (bound by the generator: a floor)' : ''
  return `${main.plan.title}: ${plan.subject} has ${by} ${plan.reference} in ${what}${limit}; noise floor ${
    main.noiseFloor === null ? 'unknown' : percent(main.noiseFloor)
  }.`
}

function stripsOf(artifacts: Artifacts): StripReport[] {
  const runs = countedRuns(artifacts)
  return artifacts.series.slice(0, STRIPS_MAX).map(({ proxy, scenario, round, role, rows }) => {
    const run = runs.find(
      (one) =>
        one.proxy === proxy &&
        one.scenario === scenario &&
        one.round === round &&
        one.role === role,
    )
    return {
      proxy,
      scenario,
      round,
      role,
      isNoisy: run !== undefined && noiseOf(run).length > 0,
      rps: rows.map(({ ok_rate }) => Math.round(ok_rate)),
      p99Us: rows.map(({ latency_us }) => latency_us.p99),
      foreign: rows.map((row) => row.foreign ?? null),
    }
  })
}

/** The tables that a person sees when a run is over. Every cell is a median. */
import { percent } from '../honesty/honesty-test.ts'
import type { Cell, Report, ScenarioReport } from '../summary/report-record.ts'
import { capacityText } from './capacity-cell.ts'
import {
  change,
  DASH,
  mebibytes,
  microseconds,
  plainMilliseconds,
  share,
  whole,
} from './figures.ts'

const FOOTNOTES_MAX = 40

export function renderTerminal(report: Report): string {
  const { scenarios } = report
  const tables = [
    ...capacityTable(
      report,
      scenarios.filter(({ plan }) => plan.kind !== 'steady' && plan.kind !== 'ramp'),
    ),
    ...scenarios
      .filter(({ plan }) => plan.kind === 'ramp')
      .flatMap((one) => rampTable(report, one)),
    ...scenarios
      .filter(({ plan }) => plan.kind === 'steady')
      .flatMap((one) => steadyTable(report, one)),
    ...differenceTable(report),
  ]
  const missing = report.proxies
    .filter(({ status }) => status !== 'ok')
    .map(({ name, status, reason }) => {
      return ` ${name}: ${status === 'missing' ? 'not installed' : status}${reason === '' ? '' : ` (${reason})`}`
    })
  const notes = report.footnotes.slice(0, FOOTNOTES_MAX).map(({ number, action, text }) => {
    const mark = action === 'fail' ? ' FAILED:' : action === 'no-rank' ? ' not ranked:' : ''
    return `(${number})${mark} ${text}`
  })
  return [headline(report), report.verdict, '', ...tables, ...missing, ...notes, ''].join('\n')
}

function headline({ runId, plan, environment, noiseFloor, repeatedRuns, runs }: Report): string {
  const seconds = plan.scenarios[0]?.seconds ?? 0
  const floor = noiseFloor === null ? 'unknown' : `${percent(noiseFloor)} (A/A)`
  return (
    `${runId} · ${plan.suite} · ${plan.rounds} rounds x ${seconds} s · layout ${environment.layout} · ` +
    `noise floor ${floor} · ${repeatedRuns} of ${runs} runs noisy and repeated`
  )
}

function capacityTable(report: Report, scenarios: readonly ScenarioReport[]): string[] {
  if (scenarios.length === 0) return []
  const rows = names(report).map((proxy) => [
    label(report, proxy),
    ...scenarios.map(({ cells }) => capacityText(cellOf(cells, proxy), report.plan.reference)),
    boundOf(scenarios, proxy),
  ])
  const direct = scenarios.map(({ direct: cell }) =>
    cell === null ? DASH : whole(cell.rps?.median),
  )
  const heads = ['', ...scenarios.map(({ plan }) => plan.title), 'bound']
  return [...aligned([heads, ...rows, ['origin alone', ...direct, '']]), '']
}

function boundOf(scenarios: readonly ScenarioReport[], proxy: string): string {
  const [first] = scenarios.flatMap(({ cells }) => cellOf(cells, proxy) ?? [])
  if (first === undefined) return DASH
  return first.bound === 'proxy' ? 'proxy' : `${first.bound} (proxy cpu ${share(first.busy)})`
}

function rampTable(report: Report, { plan, cells, direct }: ScenarioReport): string[] {
  const heads = [plan.title, 'sustained', 'ratio', 'zrk sustained', 'good answers']
  const row = (cell: Cell, name: string) => [
    name,
    whole(cell.rps?.median),
    cell.ratio === null ? DASH : `${cell.isTie ? '~ ' : ''}x${cell.ratio.median.toFixed(2)}`,
    whole(cell.zrkSustained),
    share(cell.answers.goodShare, 1),
  ]
  const rows = cells.map((cell) => row(cell, label(report, cell.proxy)))
  const alone = direct === null ? [] : [row(direct, 'origin alone')]
  return [...aligned([heads, ...rows, ...alone]), '']
}

function steadyTable(report: Report, { plan, cells, direct }: ScenarioReport): string[] {
  const heads = [
    `steady ${whole(plan.perSecond)}/s`,
    'p50 sched|release|service, ms',
    'p99 sched|release|service, ms',
    'cpu/req',
    'ratio',
    'util',
    'mem idle/loaded (Pss_Anon)',
    'failed',
  ]
  const rows = cells.map((cell) => [
    label(report, cell.proxy),
    clocks(cell, 'p50'),
    clocks(cell, 'p99'),
    microseconds(cell.cpuUs?.median),
    cell.proxy === report.plan.reference
      ? 'ref'
      : cell.cpuRatio === null
        ? DASH
        : `${cell.isTie ? '~ ' : ''}x${cell.cpuRatio.median.toFixed(2)}`,
    share(cell.utilisation),
    `${mebibytes(cell.memory.idle)} / ${mebibytes(cell.memory.loaded)}`,
    whole(cell.answers.errors + cell.answers.class4 + cell.answers.class5 + cell.answers.unsent),
  ])
  const lag = cells.find(({ lagUs }) => lagUs !== null)?.lagUs
  const foot = [
    ...(lag
      ? [`generator lag p50 ${plainMilliseconds(lag.p50)} p99 ${plainMilliseconds(lag.p99)} ms`]
      : []),
    ...(direct === null
      ? []
      : [`origin alone p50 ${clocks(direct, 'p50')} p99 ${clocks(direct, 'p99')} ms`]),
  ]
  return [...aligned([heads, ...rows]), ...(foot.length === 0 ? [] : [` ${foot.join(' · ')}`]), '']
}

function clocks({ latency }: Cell, percentile: 'p50' | 'p99'): string {
  if (latency === null) return DASH
  const values = [latency.sched, latency.release, latency.service]
  return values.map((one) => plainMilliseconds(one[percentile])).join('|')
}

function differenceTable({ comparison }: Report): string[] {
  if (comparison === null) return []
  const rows = comparison.rows.map(
    ({ scenario, metric, left, right, change: by, interval, isTie }) => [
      `${scenario}, ${metric}`,
      compared(left),
      compared(right),
      isTie ? `~ ${change(by)}` : change(by),
      interval === null ? '' : `${change(interval.low)} to ${change(interval.high)}`,
    ],
  )
  return [
    ...aligned([['', comparison.left, comparison.right, 'change', '95 % interval'], ...rows]),
    '',
  ]
}

function compared(value: number): string {
  return value >= 100 ? whole(value) : value.toPrecision(4)
}

function names({ proxies, scenarios }: Report): string[] {
  const order = (scenarios[0]?.cells ?? []).map(({ proxy }) => proxy)
  return [...order, ...proxies.map(({ name }) => name).filter((name) => !order.includes(name))]
}

export function label({ proxies }: Report, name: string): string {
  const known = proxies.find((proxy) => proxy.name === name)
  return known === undefined || known.version === '' ? name : `${name} ${known.version}`
}

function cellOf(cells: readonly Cell[], proxy: string): Cell | undefined {
  return cells.find((cell) => cell.proxy === proxy)
}

/** Columns as wide as their widest cell; the first one to the left, the others to the right. */
export function aligned(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => [...(row[column] ?? '')].length)),
  )
  return rows.map((row) =>
    row
      .map((text, column) => {
        const gap = ' '.repeat(Math.max(0, (widths[column] ?? 0) - [...text].length))
        return column === 0 ? ` ${text}${gap}` : `  ${gap}${text}`
      })
      .join('')
      .trimEnd(),
  )
}

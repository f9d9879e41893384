/** The tables of the dnz-proxy page, in its columns: throughput, the steady rate, and two builds beside each other. */
import type { Cell, Report, ScenarioReport } from '../../summary/report-record.ts'
import { ratioText } from '../capacity-cell.ts'
import {
  change,
  DASH,
  mebibytes,
  microseconds,
  milliseconds,
  share,
  spread,
  superscript,
  whole,
} from '../figures.ts'
import { emphasised, markdownTable, missingRows, titleOf } from './markdown-table.ts'

const CAPACITY_HEADS: Readonly<Record<string, string>> = {
  http1k: 'HTTP, 1 KiB',
  https1k: 'HTTPS, 1 KiB',
  'https1k-close': 'HTTPS, new connection per request',
  http64k: 'HTTP, 64 KiB',
}

export function renderDnz(report: Report): string[] {
  const capacity = report.scenarios.filter(({ plan }) => plan.key in CAPACITY_HEADS)
  const steady = report.scenarios.filter(({ plan }) => plan.kind === 'steady')
  return [
    ...(capacity.length === 0
      ? []
      : [...capacityTable(report, capacity), '', ...spreadTable(report, capacity), '']),
    ...steady.flatMap((scenario) => steadyTables(report, scenario)),
    ...differenceTable(report),
  ]
}

function capacityTable(report: Report, scenarios: readonly ScenarioReport[]): string[] {
  const heads = ['Proxy', ...scenarios.map(({ plan }) => CAPACITY_HEADS[plan.key] ?? plan.title)]
  const rows = (scenarios[0]?.cells ?? []).map(({ proxy }) =>
    emphasised(report, proxy, [
      titleOf(report, proxy),
      ...scenarios.map(({ cells }) => throughput(cells.find((cell) => cell.proxy === proxy))),
    ]),
  )
  const direct = scenarios
    .filter((scenario) => scenario.direct !== null)
    .map(
      ({ plan, direct: cell }) =>
        `${whole(cell?.rps?.median)} for ${CAPACITY_HEADS[plan.key] ?? plan.title}`,
    )
  return [
    'Requests per second, medians. ≥: the load generator was the limit.',
    '',
    ...markdownTable(heads, [...rows, ...missingRows(report, heads.length)]),
    ...(direct.length === 0
      ? []
      : ['', `The origin alone answers ${direct.join('; ')} (requests per second).`]),
  ]
}

function throughput(cell: Cell | undefined): string {
  if (cell === undefined || cell.rps === null) return DASH
  const floor = cell.bound === 'generator' ? '≥' : ''
  return `${floor}${whole(cell.rps.median)}${superscript(notesOf(cell))}`
}

/** The notes that belong to this figure alone; those of the proxy as a whole stand below. */
function notesOf({ footnotes }: Cell): readonly number[] {
  return footnotes.slice(0, 3)
}

/** What the page lacks: spread, ratio, bottleneck and failures of each figure. */
function spreadTable(report: Report, scenarios: readonly ScenarioReport[]): string[] {
  const heads = [
    'Proxy, scenario',
    'median',
    'min to max',
    '±',
    'ratio',
    '95 % interval',
    'rank',
    'bound',
    'CPU busy',
    '2xx',
    '4xx',
    '5xx',
    'errors',
  ]
  const rows = scenarios.flatMap(({ cells, plan }) =>
    cells.map((cell) => [
      `${cell.proxy}, ${plan.key}`,
      whole(cell.rps?.median),
      `${whole(cell.rps?.min)} to ${whole(cell.rps?.max)}`,
      spread(cell.rps),
      ratioText(cell, report.plan.reference),
      cell.ratio === null ? DASH : `${cell.ratio.low.toFixed(2)} to ${cell.ratio.high.toFixed(2)}`,
      cell.rank === null ? DASH : String(cell.rank),
      cell.bound,
      share(cell.busy),
      share(cell.answers.goodShare, 2),
      whole(cell.answers.class4),
      whole(cell.answers.class5),
      whole(cell.answers.errors),
    ]),
  )
  return markdownTable(heads, rows)
}

function steadyTables(report: Report, { plan, cells, direct }: ScenarioReport): string[] {
  const heads = [
    'Proxy',
    'Latency p50',
    'Latency p99',
    'CPU per request',
    'Memory idle',
    'Memory loaded',
  ]
  const rows = cells.map((cell) =>
    emphasised(report, cell.proxy, [
      titleOf(report, cell.proxy),
      milliseconds(cell.latency?.sched.p50),
      milliseconds(cell.latency?.sched.p99),
      microseconds(cell.cpuUs?.median),
      mebibytes(cell.memory.idle),
      mebibytes(cell.memory.loaded),
    ]),
  )
  const more = [
    'Proxy',
    'p50 release',
    'p99 release',
    'p50 service',
    'p99 service',
    'p99.9',
    'memory 30 s later',
    'utilisation',
    'CPU ratio',
    'generator lag p50 / p99',
    'failed',
  ]
  const moreRows = cells.map((cell) => [
    cell.proxy,
    milliseconds(cell.latency?.release.p50),
    milliseconds(cell.latency?.release.p99),
    milliseconds(cell.latency?.service.p50),
    milliseconds(cell.latency?.service.p99),
    milliseconds(cell.latency?.sched.p999),
    mebibytes(cell.memory.after),
    share(cell.utilisation),
    cell.proxy === report.plan.reference
      ? 'ref'
      : cell.cpuRatio === null
        ? DASH
        : `${cell.isTie ? '~ ' : ''}x${cell.cpuRatio.median.toFixed(2)}`,
    `${milliseconds(cell.lagUs?.p50)} / ${milliseconds(cell.lagUs?.p99)}`,
    share(1 - cell.answers.goodShare, 2),
  ])
  const alone =
    direct === null
      ? []
      : [
          '',
          `The origin alone: p50 ${milliseconds(direct.latency?.sched.p50)}, p99 ${milliseconds(direct.latency?.sched.p99)}.`,
        ]
  return [
    `At a steady ${whole(plan.perSecond)} requests a second over HTTP, latency from the moment each was due:`,
    '',
    ...markdownTable(heads, [...rows, ...missingRows(report, heads.length)]),
    ...alone,
    '',
    ...markdownTable(more, moreRows),
    '',
  ]
}

function differenceTable({ comparison }: Report): string[] {
  if (comparison === null) return []
  const rows = comparison.rows.map(({ scenario, metric, left, right, change: by, isTie }) => [
    `${CAPACITY_HEADS[scenario] ?? scenario}, ${metric}`,
    left >= 100 ? whole(left) : left.toPrecision(3),
    right >= 100 ? whole(right) : right.toPrecision(3),
    isTie ? `~ ${change(by)}` : change(by),
  ])
  return [...markdownTable(['', comparison.left, comparison.right, 'Change'], rows), '']
}

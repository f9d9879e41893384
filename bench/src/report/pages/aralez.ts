/** The tables of the Aralez page, one for each number of connections, with the columns that it lacks. */
import type { Cell, Report } from '../../summary/report-record.ts'
import { DASH, plainMilliseconds, share } from '../figures.ts'
import { markdownTable, missingRows, titleOf } from './markdown-table.ts'

/** `success` is the page's: any answer at all. `good` is what was asked for. */
const HEADS = [
  'Server',
  'success',
  'avg ms',
  'avg rps',
  'p50 (ms)',
  'p75 (ms)',
  'p90 (ms)',
  'p99 (ms)',
  'resp 2xx',
  'resp 5xx',
  'timeout',
]
const MORE_HEADS = ['resp 4xx', 'goodput/s', 'good', 'p99.9 (ms)', 'connect errors', 'ratio']

export function renderAralez(report: Report): string[] {
  const steps = report.scenarios.filter(({ plan }) => plan.kind === 'closed')
  return steps.flatMap(({ plan, cells }) => [
    `${plan.methods.length} × ${Math.round(plan.connections / plan.methods.length)} connections (closed loop, saturated)`,
    '',
    ...markdownTable(
      [...HEADS, ...MORE_HEADS],
      [
        ...cells.map((cell) => row(report, cell)),
        ...missingRows(report, HEADS.length + MORE_HEADS.length),
      ],
    ),
    '',
  ])
}

function row(report: Report, cell: Cell): string[] {
  const { answers, latency } = cell
  const answered = answers.good + answers.class3 + answers.class4 + answers.class5
  const total = answered + answers.errors
  const service = latency?.service
  return [
    titleOf(report, cell.proxy),
    total === 0 ? DASH : share(answered / total, 2),
    plainMilliseconds(service?.mean),
    cell.allRps.toFixed(2),
    plainMilliseconds(service?.p50),
    plainMilliseconds(service?.p75),
    plainMilliseconds(service?.p90),
    plainMilliseconds(service?.p99),
    String(answers.good),
    String(answers.class5),
    String(answers.timeouts),
    String(answers.class4),
    cell.rps === null ? DASH : cell.rps.median.toFixed(2),
    share(answers.goodShare, 2),
    plainMilliseconds(service?.p999),
    String(answers.connectErrors),
    cell.proxy === report.plan.reference
      ? 'ref'
      : cell.ratio === null
        ? DASH
        : `${cell.isTie ? '~ ' : ''}x${cell.ratio.median.toFixed(2)}`,
  ]
}

/**
 * rewrk's own lines, as the rpxy page prints them. What rewrk prints beside a percentile is the mean of the slowest
 * share of requests and no percentile, so that the true ones stand below.
 */
import type { Cell, Report, ScenarioReport } from '../../summary/report-record.ts'
import { plainMilliseconds, share, whole } from '../figures.ts'
import { markdownTable, titleOf } from './markdown-table.ts'

const BOX = '+ --------------- + --------------- +'
const ROWS = [
  ['99.9%', 'p999'],
  ['99%', 'p99'],
  ['95%', 'p95'],
  ['90%', 'p90'],
  ['75%', 'p75'],
  ['50%', 'p50'],
] as const

export function renderRpxy(report: Report): string[] {
  const closed = report.scenarios.filter(({ plan }) => plan.kind === 'closed')
  return closed.flatMap((scenario) => [
    '```',
    ...scenario.cells.flatMap((cell) => block(scenario, cell)),
    '```',
    '',
    'True percentiles, and what wrk counts with the same connections:',
    '',
    ...truth(report, scenario),
    '',
  ])
}

function block({ plan }: ScenarioReport, cell: Cell): string[] {
  const service = cell.latency?.service
  const mib = cell.bytes / 1_048_576
  const total = Math.round(cell.allRps * cell.seconds)
  const { errors } = cell.answers
  return [
    '----------------------------',
    `Benchmark on ${cell.proxy}`,
    'Beginning round 1...',
    `Benchmarking ${plan.connections} connections @ http://localhost/ for ${plan.seconds} second(s)`,
    '  Latencies:',
    '    Avg      Stdev    Min      Max',
    `    ${ms(service?.mean)}  ${ms(service?.stdev)}  ${ms(service?.min)}  ${ms(service?.max)}`,
    '  Requests:',
    `    Total: ${total}  Req/Sec: ${cell.allRps.toFixed(2)}`,
    '  Transfer:',
    `    Total: ${mib.toFixed(2)} MB Transfer Rate: ${(mib / cell.seconds).toFixed(2)} MB/Sec`,
    BOX,
    '|   Percentile    |   Avg Latency   |',
    BOX,
    ...ROWS.map(([name, key]) => `|${centred(name)}|${centred(ms(cell.tailMeansUs?.[key]))}|`),
    BOX,
    ...(errors === 0 ? [] : ['', `${errors} Errors: connection failed, timed out or ended early`]),
    '',
    'sleep 3 secs',
  ]
}

function ms(us: number | null | undefined): string {
  return us === null || us === undefined ? '-' : `${(us / 1_000).toFixed(2)}ms`
}

function centred(text: string): string {
  const left = Math.floor((17 - text.length) / 2)
  return `${' '.repeat(left)}${text}`.padEnd(17)
}

function truth(report: Report, { cells }: ScenarioReport): string[] {
  const capacity = report.scenarios.find(({ plan }) => plan.kind === 'capacity')
  const heads = [
    'Proxy',
    'p50 ms',
    'p75 ms',
    'p90 ms',
    'p99 ms',
    'p99.9 ms',
    'good req/s',
    'good',
    'wrk req/s',
    'bound',
    'CPU busy',
  ]
  const rows = cells.map((cell) => {
    const service = cell.latency?.service
    const wrk = capacity?.cells.find(({ proxy }) => proxy === cell.proxy)
    return [
      titleOf(report, cell.proxy),
      plainMilliseconds(service?.p50),
      plainMilliseconds(service?.p75),
      plainMilliseconds(service?.p90),
      plainMilliseconds(service?.p99),
      plainMilliseconds(service?.p999),
      whole(cell.rps?.median),
      share(cell.answers.goodShare, 2),
      whole(wrk?.rps?.median),
      cell.bound === 'generator' ? 'client-bound' : cell.bound,
      share(cell.busy),
    ]
  })
  return markdownTable(heads, rows)
}

/** The page's tables. A cell has its figure, and in small what is to be known of it. */
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
  whole,
} from '../figures.ts'
import { cellIn, costText, indexOf } from './charts.ts'
import { escaped, table } from './markup.ts'

export function tables(report: Report): string {
  const { scenarios } = report
  const throughput = scenarios.filter(({ plan }) => plan.kind !== 'steady')
  const steady = scenarios.filter(({ plan }) => plan.kind === 'steady')
  return [
    throughput.length === 0
      ? ''
      : `<h2>Throughput</h2>${throughputTable(report, throughput)}${answersTable(throughput)}`,
    ...steady.map((one) => `<h2>${escaped(one.plan.title)}</h2>${steadyTable(report, one)}`),
    comparisonTable(report),
  ].join('\n')
}

interface RichCell {
  readonly main: string
  readonly small?: string
}

function richTable(
  report: Report,
  heads: readonly string[],
  rows: readonly { readonly proxy: string; readonly cells: readonly RichCell[] }[],
): string {
  const head = heads.map((text) => `<th scope="col">${escaped(text)}</th>`).join('')
  const body = rows.map(({ proxy, cells }) => {
    const known = report.proxies.find(({ name }) => name === proxy)
    const status =
      known === undefined || known.status === 'ok'
        ? ''
        : ` <span class="status ${known.status}">${known.status === 'missing' ? 'not installed' : known.status}</span>`
    const name = `<th scope="row"><span class="mark s${indexOf(report, proxy)}"></span>${escaped(known?.title ?? proxy)}${status}<small>${escaped(known?.version ?? '')}</small></th>`
    const drawn = cells
      .map(
        ({ main, small }) =>
          `<td>${escaped(main)}${small === undefined || small === '' ? '' : `<small>${escaped(small)}</small>`}</td>`,
      )
      .join('')
    return `<tr class="${proxy === report.plan.subject ? 'self' : ''}">${name}${drawn}</tr>`
  })
  return `<div class="scroll"><table><thead><tr>${head}</tr></thead><tbody>${body.join('')}</tbody></table></div>`
}

function orderOf(report: Report, scenario: ScenarioReport | undefined): string[] {
  const first = scenario?.cells.map(({ proxy }) => proxy) ?? []
  return [
    ...first,
    ...report.proxies.map(({ name }) => name).filter((name) => !first.includes(name)),
  ]
}

function throughputTable(report: Report, scenarios: readonly ScenarioReport[]): string {
  const rows = orderOf(report, scenarios[0]).map((proxy) => ({
    proxy,
    cells: scenarios.map((scenario) =>
      throughputCell(cellIn(scenario, proxy), report.plan.reference),
    ),
  }))
  const foot = scenarios
    .filter(({ direct }) => direct !== null)
    .map(({ plan, direct }) => `${plan.title} ${whole(direct?.rps?.median)}/s`)
    .join(' · ')
  const alone = foot === '' ? '' : `<p class="method">The origin alone: ${escaped(foot)}.</p>`
  return `${richTable(report, ['Proxy', ...scenarios.map(({ plan }) => plan.title)], rows)}${alone}`
}

function throughputCell(cell: Cell | undefined, reference: string): RichCell {
  if (cell === undefined || cell.rps === null) return { main: DASH }
  const floor = cell.bound === 'generator' ? '≥ ' : ''
  const rank = cell.rank === null ? 'not ranked' : `#${cell.rank}`
  const notes = cell.footnotes.length === 0 ? '' : ` (${cell.footnotes.slice(0, 4).join(', ')})`
  return {
    main: `${floor}${whole(cell.rps.median)}`,
    small: `${spread(cell.rps)} · ${ratioText(cell, reference)} · ${rank} · ${cell.bound}-bound, CPU ${share(cell.busy)}${notes}`,
  }
}

function answersTable(scenarios: readonly ScenarioReport[]): string {
  const rows = scenarios.flatMap(({ plan, cells }) =>
    cells.map(({ proxy, answers, allRps, rps }) => [
      `${proxy}, ${plan.key}`,
      whole(rps?.median),
      whole(allRps),
      whole(answers.good),
      whole(answers.class3),
      whole(answers.class4),
      whole(answers.class5),
      whole(answers.errors),
      whole(answers.timeouts),
      whole(answers.unsent),
      share(answers.goodShare, 2),
    ]),
  )
  const heads = [
    'Proxy, scenario',
    'good/s',
    'any/s',
    '2xx',
    '3xx',
    '4xx',
    '5xx',
    'errors',
    'of them timeouts',
    'not sent',
    'good',
  ]
  return `<details><summary>Answers by kind</summary>${table(heads, rows)}</details>`
}

function steadyTable(report: Report, { plan, cells, direct }: ScenarioReport): string {
  const heads = [
    'Proxy',
    'Latency p50',
    'Latency p99',
    'CPU per request',
    'Utilisation',
    'Memory idle',
    'Memory loaded',
    'Failed',
  ]
  const rows = orderOf(report, {
    plan,
    cells,
    direct,
    noiseFloor: null,
    isInconclusive: false,
  }).map((proxy) => {
    const cell = cells.find((one) => one.proxy === proxy)
    return {
      proxy,
      cells:
        cell === undefined ? heads.slice(1).map(() => ({ main: DASH })) : steadyCells(report, cell),
    }
  })
  const lag = cells.find(({ lagUs }) => lagUs !== null)?.lagUs
  const facts = [
    lag
      ? `The generator was late by ${milliseconds(lag.p50)} (p50) and ${milliseconds(lag.p99)} (p99).`
      : '',
    direct?.latency
      ? `The origin alone: p50 ${milliseconds(direct.latency.sched.p50)}, p99 ${milliseconds(direct.latency.sched.p99)}.`
      : '',
  ]
  return `${richTable(report, heads, rows)}<p class="method">${escaped(facts.join(' '))}</p>`
}

function steadyCells(report: Report, cell: Cell): RichCell[] {
  const clocks = (percentile: 'p50' | 'p99'): RichCell => ({
    main: milliseconds(cell.latency?.sched[percentile]),
    small: `release ${milliseconds(cell.latency?.release[percentile])} · service ${milliseconds(cell.latency?.service[percentile])}`,
  })
  const ratio =
    cell.cpuRatio === null
      ? ''
      : cell.proxy === report.plan.reference
        ? 'ref'
        : `${cell.isTie ? '~ ' : ''}x${cell.cpuRatio.median.toFixed(2)}`
  return [
    clocks('p50'),
    clocks('p99'),
    {
      main: costText(cell),
      small: `${cell.cpuUs === null ? '' : spread(cell.cpuUs)} ${ratio}`.trim(),
    },
    { main: share(cell.utilisation) },
    { main: mebibytes(cell.memory.idle) },
    { main: mebibytes(cell.memory.loaded) },
    { main: share(1 - cell.answers.goodShare, 2) },
  ]
}

function comparisonTable({ comparison }: Report): string {
  if (comparison === null) return ''
  const rows = comparison.rows.map(
    ({ scenario, metric, left, right, change: by, interval, isTie }) => [
      `${scenario}, ${metric}`,
      metric.endsWith('µs')
        ? microseconds(left)
        : Number(left.toPrecision(4)).toLocaleString('en-US'),
      metric.endsWith('µs')
        ? microseconds(right)
        : Number(right.toPrecision(4)).toLocaleString('en-US'),
      isTie ? `~ ${change(by)}` : change(by),
      interval === null ? DASH : `${change(interval.low)} to ${change(interval.high)}`,
    ],
  )
  const heads = ['', comparison.left, comparison.right, 'Change', '95 % interval']
  return `<h2>${escaped(`${comparison.left} and ${comparison.right}`)}</h2>${table(heads, rows)}`
}

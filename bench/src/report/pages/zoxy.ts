/** The table of the zoxy page: the most sustained in a ramp, latency at a rate that all hold, memory, status. */
import { medianOf } from '../../honesty/honesty-test.ts'
import type { Report } from '../../summary/report-record.ts'
import { DASH, mebibytes, milliseconds, share, zrkNumber } from '../figures.ts'
import { emphasised, markdownTable, titleOf } from './markdown-table.ts'

export function renderZoxy(report: Report): string[] {
  const ramps = report.scenarios.filter(({ plan }) => plan.kind === 'ramp')
  const steady = report.scenarios.find(({ plan }) => plan.kind === 'steady')
  return ramps.flatMap((ramp) => {
    const reference = zrkNumber(steady?.plan.perSecond ?? null)
    const heads = [
      'proxy',
      'max sustained req/s',
      `p50 @ ${reference}`,
      `p99 @ ${reference}`,
      'peak mem',
      'status',
    ]
    const more = [
      'proxy',
      'ratio',
      'zrk sustained',
      'good answers',
      '4xx',
      '5xx',
      'errors and timeouts',
      'not sent',
      'rounds',
    ]
    const rows = report.proxies.map(({ name, status, reason }) => {
      const cell = ramp.cells.find(({ proxy }) => proxy === name)
      const held = steady?.cells.find(({ proxy }) => proxy === name)
      if (cell === undefined || status === 'missing' || status === 'failed') {
        const said = status === 'missing' ? 'not installed' : `failed · ${reason}`
        return { sort: -1, cells: [titleOf(report, name), DASH, DASH, DASH, DASH, said] }
      }
      const memory = [cell.memory.loaded, held?.memory.loaded].filter(
        (bytes) => typeof bytes === 'number',
      )
      const texts = [
        titleOf(report, name),
        zrkNumber(cell.rps?.median),
        milliseconds(held?.latency?.sched.p50),
        milliseconds(held?.latency?.sched.p99),
        memory.length === 0 ? DASH : mebibytes(Math.max(...memory)),
        status,
      ]
      return { sort: cell.rps?.median ?? 0, cells: emphasised(report, name, texts) }
    })
    const sorted = rows.toSorted((left, right) => right.sort - left.sort)
    return [
      `${ramp.plan.title}, ${ramp.plan.connections} connections`,
      '',
      ...markdownTable(
        heads,
        sorted.map(({ cells }) => cells),
      ),
      '',
      ...markdownTable(
        more,
        ramp.cells.map((cell) => [
          cell.proxy,
          cell.proxy === report.plan.reference
            ? 'ref'
            : cell.ratio === null
              ? DASH
              : `${cell.isTie ? '~ ' : ''}x${cell.ratio.median.toFixed(2)}`,
          zrkNumber(cell.zrkSustained),
          share(cell.answers.goodShare, 1),
          String(cell.answers.class4),
          String(cell.answers.class5),
          String(cell.answers.errors),
          String(cell.answers.unsent),
          String(medianOf([cell.rounds])),
        ]),
      ),
      '',
    ]
  })
}

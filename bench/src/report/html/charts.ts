/** Which charts a report has: what its suite measured decides. */
import type { Cell, Report, ScenarioReport } from '../../summary/report-record.ts'
import { mebibytes, microseconds, milliseconds, spread, whole } from '../figures.ts'
import { type LineSeries, lineChart } from './line-chart.ts'
import { type Mark, type Row, rowChart } from './row-chart.ts'

/** Of its colour: its place among the proxies, also where others are missing. */
export function indexOf({ proxies }: Report, proxy: string): number {
  return (
    Math.max(
      0,
      proxies.findIndex(({ name }) => name === proxy),
    ) % 10
  )
}

export function charts(report: Report): string[] {
  const { scenarios } = report
  const capacity = scenarios.filter(({ plan }) => plan.kind === 'capacity')
  const steady = scenarios.filter(({ plan }) => plan.kind === 'steady')
  const closed = scenarios.filter(({ plan }) => plan.kind === 'closed')
  return [
    ...report.ramps.flatMap((ramp) => rampCharts(report, ramp)),
    ...capacity.filter(hasFigures).map((one) => capacityChart(report, one)),
    ...scenarios.filter(hasFigures).flatMap((one) => ratioChart(report, one)),
    ...steady.flatMap((one) => steadyCharts(report, one)),
    ...costOverRate(report),
    ...sweepCharts(report, closed),
    ...distributionCharts(report),
  ]
}

function hasFigures({ cells }: ScenarioReport): boolean {
  return cells.some(({ rps }) => rps !== null)
}

function capacityChart(report: Report, { plan, cells, direct }: ScenarioReport): string {
  const rows = cells.map((cell) => row(report, cell, capacityValue(cell), capacityMarks(cell)))
  const alone = direct?.rps ? `, the origin alone ${whole(direct.rps.median)}` : ''
  return rowChart({
    id: `capacity-${plan.key}`,
    title: plan.title,
    description: `Good answers per second${alone}. Bar: median; dots: each run; open end: the generator was the limit.`,
    xLabel: 'good answers per second',
    rows,
  })
}

function capacityValue(cell: Cell): string {
  if (cell.rps === null) return '–'
  const floor = cell.bound === 'generator' ? '≥ ' : ''
  return `${floor}${whole(cell.rps.median)}/s ${spread(cell.rps)}`
}

function capacityMarks({ rps, bound, isRanked, answers }: Cell): Mark[] {
  if (rps === null || answers.good === 0) return []
  const dots = rps.values.map(
    (at): Mark => ({ kind: 'dot', at, isHollow: !isRanked, title: `${whole(at)}/s` }),
  )
  return [{ kind: 'bar', to: rps.median, isFloor: bound === 'generator' }, ...dots]
}

function row(report: Report, { proxy }: Cell, value: string, marks: readonly Mark[]): Row {
  return { name: proxy, index: indexOf(report, proxy), value, marks }
}

/** Rounds of a ratio as dots, their interval as a line, and in grey what the reference differs from itself. */
function ratioChart(report: Report, scenario: ScenarioReport): string[] {
  const { plan, cells, noiseFloor } = scenario
  const isSteady = plan.kind === 'steady'
  const rows = cells.flatMap((cell) => {
    const ratio = isSteady ? cell.cpuRatio : cell.ratio
    if (ratio === null) return []
    const dots = ratio.values.map((at): Mark => ({ kind: 'dot', at, title: `× ${at.toFixed(3)}` }))
    const value = `${cell.isTie ? '~ ' : ''}× ${ratio.median.toFixed(2)}`
    return [row(report, cell, value, [{ kind: 'range', from: ratio.low, to: ratio.high }, ...dots])]
  })
  if (rows.length < 2) return []
  const floor = noiseFloor ?? 0
  const what = isSteady ? 'CPU per request' : 'Throughput'
  return [
    rowChart({
      id: `ratio-${plan.key}`,
      title: `${plan.title}: ratio to ${report.plan.reference}`,
      description: `${what} over that of ${report.plan.reference} in the same round. Line: 95 % interval of the median; grey: twice the noise floor, within which all is a tie.`,
      xLabel: `ratio to ${report.plan.reference}`,
      rows,
      band: [1 - 2 * floor, 1 + 2 * floor],
    }),
  ]
}

function steadyCharts(report: Report, { plan, cells }: ScenarioReport): string[] {
  const dumbbell = (percentile: 'p50' | 'p99') => {
    const rows = cells.flatMap((cell) => {
      const from = cell.latency?.service[percentile]
      const to = cell.latency?.sched[percentile]
      if (typeof from !== 'number' || typeof to !== 'number') return []
      const marks: Mark[] = [
        { kind: 'range', from: from / 1_000, to: to / 1_000 },
        { kind: 'dot', at: from / 1_000, isHollow: true, title: `service ${milliseconds(from)}` },
        { kind: 'dot', at: to / 1_000, title: `from due time ${milliseconds(to)}` },
      ]
      return [row(report, cell, `${milliseconds(from)} → ${milliseconds(to)}`, marks)]
    })
    if (rows.length === 0) return []
    return [
      rowChart({
        id: `${percentile}-${plan.key}`,
        title: `Latency ${percentile} at ${whole(plan.perSecond)}/s`,
        description:
          'Hollow: service time, from sending to the answer. Full: from when the request was due, which is what a user waits.',
        xLabel: 'ms',
        rows,
      }),
    ]
  }
  return [...dumbbell('p50'), ...dumbbell('p99'), ...memoryChart(report, plan.key, cells)]
}

function memoryChart(report: Report, key: string, cells: readonly Cell[]): string[] {
  const rows = cells.flatMap((cell) => {
    const { idle, loaded } = cell.memory
    if (idle === null || loaded === null) return []
    const mib = (bytes: number) => bytes / 1_048_576
    const marks: Mark[] = [
      { kind: 'range', from: mib(idle), to: mib(loaded) },
      { kind: 'dot', at: mib(idle), isHollow: true, title: `idle ${mebibytes(idle)}` },
      { kind: 'dot', at: mib(loaded), title: `loaded ${mebibytes(loaded)}` },
    ]
    return [row(report, cell, `${mebibytes(idle)} → ${mebibytes(loaded)}`, marks)]
  })
  if (rows.length === 0) return []
  return [
    rowChart({
      id: `memory-${key}`,
      title: 'Private memory, idle to loaded',
      description:
        'Pss_Anon over the process tree. Hollow: idle, 2 s after ready; full: right after the load.',
      xLabel: 'MiB',
      rows,
    }),
  ]
}

/** What a request costs falls where more arrive at once, so that a cost is a cost at a rate. */
function costOverRate(report: Report): string[] {
  const series = report.proxies.flatMap(({ name }): LineSeries[] => {
    const points = report.scenarios
      .filter(
        ({ plan }) =>
          plan.protocol === 'http' &&
          plan.bodyBytes === 1_024 &&
          !plan.isConnectionPerRequest &&
          plan.kind !== 'ramp',
      )
      .flatMap(({ cells }) => cells.find(({ proxy }) => proxy === name) ?? [])
      .flatMap((cell): [number, number][] =>
        cell.cpuUs === null || cell.rps === null ? [] : [[cell.rps.median, cell.cpuUs.median]],
      )
      .toSorted((left, right) => left[0] - right[0])
    return points.length < 2 ? [] : [{ name, index: indexOf(report, name), points }]
  })
  if (series.length === 0) return []
  return [
    lineChart({
      id: 'cost',
      title: 'CPU per request over the rate',
      description:
        'The whole process tree, 1 KiB answers over HTTP. Only figures at the same rate compare.',
      xLabel: 'good answers per second',
      yLabel: 'µs',
      series,
      hasMarkers: true,
    }),
  ]
}

function rampCharts(report: Report, ramp: Report['ramps'][number]): string[] {
  const lines = (curves: typeof ramp.rps) =>
    curves.map(({ proxy, points }): LineSeries => {
      // The origin alone has the colour that no proxy has.
      const index = proxy === 'direct' ? 10 : indexOf(report, proxy)
      return { name: proxy === 'direct' ? 'origin alone' : proxy, index, points }
    })
  const common = { xLabel: 'offered load (requests per second)', xMax: ramp.offeredMax }
  const id = ramp.scenario
  return [
    lineChart({
      ...common,
      id: `${id}-rps`,
      title: 'Good answers over offered load',
      description: 'Open-loop ramp; dashed grey: everything that was offered was answered.',
      yLabel: 'per second',
      series: lines(ramp.rps),
      hasDiagonal: true,
    }),
    lineChart({
      ...common,
      id: `${id}-cpu`,
      title: 'Proxy CPU over offered load',
      description: 'Cores by the kernel’s own clock, middle of 7 seconds.',
      yLabel: 'cores',
      series: lines(ramp.cpu),
    }),
    lineChart({
      ...common,
      id: `${id}-p99`,
      title: 'p99 over offered load, while keeping up',
      description:
        'From when requests were due (log scale); a line ends where its proxy no longer keeps up.',
      yLabel: 'ms',
      series: lines(ramp.p99),
      isLogY: true,
    }),
    lineChart({
      ...common,
      id: `${id}-shed`,
      title: 'Share not answered well over offered load',
      description: '1 − good answers ÷ offered, middle of 15 seconds.',
      yLabel: 'share',
      series: lines(ramp.shed),
    }),
  ]
}

function sweepCharts(report: Report, steps: readonly ScenarioReport[]): string[] {
  if (steps.length < 2) return []
  const lines = (value: (cell: Cell) => number | null) =>
    report.proxies.flatMap(({ name }): LineSeries[] => {
      const points = steps.map(({ plan, cells }) => {
        const cell = cells.find(({ proxy }) => proxy === name)
        const y = cell === undefined ? null : value(cell)
        return y === null ? null : ([plan.connections, y] as const)
      })
      return points.every((point) => point === null)
        ? []
        : [{ name, index: indexOf(report, name), points }]
    })
  const common = { xLabel: 'connections', isLogX: true, hasMarkers: true }
  return [
    lineChart({
      ...common,
      id: 'sweep-latency',
      title: 'Average latency over connections',
      description: 'Closed loop: at saturation this is connections ÷ rate (log scale).',
      yLabel: 'ms',
      series: lines((cell) => (cell.latency === null ? null : cell.latency.service.mean / 1_000)),
      isLogY: true,
    }),
    lineChart({
      ...common,
      id: 'sweep-goodput',
      title: 'Good answers over connections',
      description: 'Answers with the expected status and length per second.',
      yLabel: 'per second',
      series: lines((cell) => cell.rps?.median ?? null),
    }),
    lineChart({
      ...common,
      id: 'sweep-success',
      title: 'Success over connections',
      description:
        'Share of requests with the expected answer: 4xx, 5xx, errors and timeouts are none.',
      yLabel: 'share',
      series: lines((cell) => cell.answers.goodShare),
    }),
  ]
}

function distributionCharts(report: Report): string[] {
  return report.distributions.map(({ proxy, scenario, clocks, file }) =>
    lineChart({
      id: `distribution-${scenario}-${proxy}`,
      title: `${proxy}: latency by percentile, ${scenario}`,
      description: `1/(1−p): 10 is p90, 100 is p99, 1k is p99.9. All rounds together.${file === null ? '' : ` Raw: ${file}`}`,
      xLabel: '1 ÷ (1 − percentile)',
      yLabel: 'ms',
      series: [
        { name: 'from due time', index: indexOf(report, proxy), points: clocks.sched },
        { name: 'from release', index: (indexOf(report, proxy) + 1) % 10, points: clocks.release },
        { name: 'service', index: (indexOf(report, proxy) + 2) % 10, points: clocks.service },
      ].filter(({ points }) => points.length > 0),
      isLogX: true,
    }),
  )
}

/** For the tables: which cell stands for a proxy in a scenario. */
export function cellIn(scenario: ScenarioReport, proxy: string): Cell | undefined {
  return scenario.cells.find((cell) => cell.proxy === proxy)
}

export function costText(cell: Cell): string {
  return microseconds(cell.cpuUs?.median)
}

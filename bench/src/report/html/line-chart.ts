/** Lines over a common x axis: a gap in the data stays a gap. */
import type { Point } from '../../summary/report-record.ts'
import { figure, grid, HEIGHT, MARGIN, rounded, WIDTH } from './frame.ts'
import { jsonBlock } from './markup.ts'
import { compact, linearScale, logScale, type Scale } from './scale.ts'

export interface LineSeries {
  readonly name: string
  /** Of its colour and dashes. */
  readonly index: number
  readonly points: readonly (Point | null)[]
}

export interface LineChart {
  readonly id: string
  readonly title: string
  readonly description: string
  readonly xLabel: string
  readonly yLabel: string
  readonly series: readonly LineSeries[]
  readonly isLogX?: boolean
  readonly isLogY?: boolean
  readonly xMax?: number
  /** Dashed: everything that was asked for was answered. */
  readonly hasDiagonal?: boolean
  readonly hasMarkers?: boolean
}

export function lineChart(chart: LineChart): string {
  const { xMax = Number.POSITIVE_INFINITY } = chart
  const series = chart.series.map((one) => ({
    ...one,
    points: one.points.filter((point) => point === null || point[0] <= xMax),
  }))
  const known = series.flatMap(({ points }) => points.filter((point) => point !== null))
  const xs = known.map(([x]) => x)
  const ys = known.map(([, y]) => y)
  const across = [MARGIN.left, WIDTH - MARGIN.right] as const
  const up = [HEIGHT - MARGIN.bottom, MARGIN.top] as const
  const x = chart.isLogX === true ? logScale(xs, across) : linearScale(xs, across)
  const y = chart.isLogY === true ? logScale(ys, up) : linearScale(ys, up)
  const lines = series.map((one) => line(one, x, y, chart.hasMarkers === true)).join('')
  const drawing = [
    grid(x, y),
    chart.hasDiagonal === true ? diagonal(x, y) : '',
    lines,
    `<g class="hover" hidden><path class="cross" d=""/></g>`,
    `<rect class="capture" x="${MARGIN.left}" y="${MARGIN.top}" width="${WIDTH - MARGIN.left - MARGIN.right}" height="${HEIGHT - MARGIN.top - MARGIN.bottom}"/>`,
  ].join('')
  const data = {
    xLabel: chart.xLabel,
    series: series.map(({ name, index, points }) => ({
      name,
      index,
      // Of each point where it stands, so that the script needs no scale.
      points: points.flatMap((point) =>
        point === null ? [] : [[rounded(x.at(point[0])), point[0], point[1]]],
      ),
    })),
  }
  return figure(
    {
      ...chart,
      data: dataOf(series, chart),
      legend: series.map(({ index, name }) => ({ index, name })),
    },
    drawing,
    `<div class="tip" hidden></div>${jsonBlock(`data-${chart.id}`, data)}`,
  )
}

function line({ index, points }: LineSeries, x: Scale, y: Scale, hasMarkers: boolean): string {
  const path = pathOf(points, x, y)
  if (path === '') return ''
  const markers = hasMarkers
    ? points
        .filter((point) => point !== null)
        .map(
          ([px, py]) =>
            `<circle class="dot" cx="${rounded(x.at(px))}" cy="${rounded(y.at(py))}" r="4"/>`,
        )
        .join('')
    : ''
  return `<g class="s${index}"><path class="line" d="${path}"/>${markers}</g>`
}

export function pathOf(points: readonly (Point | null)[], x: Scale, y: Scale): string {
  let path = ''
  let isBroken = true
  for (const point of points) {
    if (point !== null)
      path += `${isBroken ? 'M' : 'L'}${rounded(x.at(point[0]))} ${rounded(y.at(point[1]))}`
    isBroken = point === null
  }
  return path
}

function diagonal(x: Scale, y: Scale): string {
  const end = Math.min(x.ticks.at(-1) ?? 0, y.ticks.at(-1) ?? 0)
  const from = `${rounded(x.at(0))} ${rounded(y.at(0))}`
  return `<path class="ideal" d="M${from}L${rounded(x.at(end))} ${rounded(y.at(end))}"/>`
}

/** At most twenty rows, evenly spread: the whole is in the artifacts. */
function dataOf(
  series: readonly LineSeries[],
  { xLabel }: LineChart,
): { heads: string[]; rows: string[][] } {
  const longest = series.reduce((most, { points }) => Math.max(most, points.length), 0)
  const step = Math.max(1, Math.ceil(longest / 20))
  const rows: string[][] = []
  for (let index = 0; index < longest; index += step) {
    const at = series.flatMap(({ points }) => points[index]?.[0] ?? [])[0]
    rows.push([
      at === undefined ? '–' : compact(at),
      ...series.map(({ points }) => {
        const point = points[index]
        return point === null || point === undefined ? '–' : compact(point[1])
      }),
    ])
  }
  return { heads: [xLabel, ...series.map(({ name }) => name)], rows }
}

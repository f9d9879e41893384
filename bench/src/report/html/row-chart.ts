/** A row for each proxy: bars with every run as a dot, intervals around a ratio, or the way from one value to another. */
import { figure, grid, MARGIN, rounded, WIDTH } from './frame.ts'
import { escaped } from './markup.ts'
import { linearScale, logScale, type Scale } from './scale.ts'

const ROW_HEIGHT = 54
const NAME_BASELINE = 17
const MIDDLE = 35
const BAR_HEIGHT = 16

export type Mark =
  | { readonly kind: 'bar'; readonly to: number; readonly isFloor: boolean }
  | {
      readonly kind: 'dot'
      readonly at: number
      readonly isHollow?: boolean
      readonly title?: string
    }
  | { readonly kind: 'range'; readonly from: number; readonly to: number }

export interface Row {
  readonly name: string
  readonly index: number
  /** At the right of the name. */
  readonly value: string
  readonly marks: readonly Mark[]
}

export interface RowChart {
  readonly id: string
  readonly title: string
  readonly description: string
  readonly xLabel: string
  readonly rows: readonly Row[]
  readonly isLog?: boolean
  readonly least?: number
  /** Shaded: differences that the reference shows against itself. */
  readonly band?: readonly [number, number]
}

export function rowChart(chart: RowChart): string {
  const height = MARGIN.top + MARGIN.bottom + Math.max(chart.rows.length, 1) * ROW_HEIGHT
  const values = chart.rows.flatMap(({ marks }) => marks.flatMap(valuesOf))
  const all = [...values, ...(chart.band ?? [])]
  const across = [MARGIN.right, WIDTH - MARGIN.right - 8] as const
  const least = chart.least ?? 0
  const scale = chart.isLog === true ? logScale(all, across) : linearScale(all, across, { least })
  const drawing = [
    band(chart, scale, height),
    grid(scale, undefined, height),
    ...chart.rows.map((row, place) => drawRow(row, MARGIN.top + place * ROW_HEIGHT, scale)),
  ].join('')
  const data = {
    heads: ['proxy', 'value', 'points'],
    rows: chart.rows.map(({ name, value, marks }) => [
      name,
      value,
      marks
        .flatMap(valuesOf)
        .map((one) => String(Number(one.toPrecision(4))))
        .join(', '),
    ]),
  }
  return figure({ ...chart, yLabel: '', height, data }, drawing)
}

function valuesOf(mark: Mark): number[] {
  switch (mark.kind) {
    case 'bar':
      return [mark.to]
    case 'dot':
      return [mark.at]
    case 'range':
      return [mark.from, mark.to]
  }
}

function band({ band: limits }: RowChart, scale: Scale, height: number): string {
  if (limits === undefined) return ''
  const left = rounded(scale.at(limits[0]))
  const width = Math.max(2, rounded(scale.at(limits[1])) - left)
  return `<rect class="band" x="${left}" y="${MARGIN.top}" width="${width}" height="${height - MARGIN.top - MARGIN.bottom}"/>`
}

function drawRow({ name, index, value, marks }: Row, top: number, scale: Scale): string {
  const middle = top + MIDDLE
  const drawn = marks.map((mark) => drawMark(mark, middle, scale)).join('')
  const end = WIDTH - MARGIN.right
  return `<g class="s${index}"><text class="name" x="${MARGIN.right}" y="${top + NAME_BASELINE}">${escaped(name)}</text><text class="value" x="${end}" y="${top + NAME_BASELINE}" text-anchor="end">${escaped(value)}</text>${drawn}</g>`
}

function drawMark(mark: Mark, middle: number, scale: Scale): string {
  switch (mark.kind) {
    case 'bar': {
      const left = rounded(scale.at(scale.ticks[0] ?? 0))
      const right = Math.max(left + 1, rounded(scale.at(mark.to)))
      const [top, bottom] = [middle - BAR_HEIGHT / 2, middle + BAR_HEIGHT / 2]
      const path = `<path class="bar${mark.isFloor ? ' floor' : ''}" d="M${left} ${top}H${right}V${bottom}H${left}Z"/>`
      // An open end: the proxy could do more than was asked of it.
      return mark.isFloor
        ? `${path}<path class="open" d="M${right - 7} ${top}L${right} ${middle}L${right - 7} ${bottom}"/>`
        : path
    }
    case 'dot': {
      const title = mark.title === undefined ? '' : `<title>${escaped(mark.title)}</title>`
      return `<circle class="${mark.isHollow === true ? 'dot hollow' : 'dot'}" cx="${rounded(scale.at(mark.at))}" cy="${middle}" r="5">${title}</circle>`
    }
    case 'range':
      return `<path class="range" d="M${rounded(scale.at(mark.from))} ${middle}H${rounded(scale.at(mark.to))}"/>`
  }
}

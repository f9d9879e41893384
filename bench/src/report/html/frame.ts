/** What every chart has: its place, title, description, axes, legend and the data as a table. */
import { escaped, table } from './markup.ts'
import { compact, type Scale } from './scale.ts'

export const WIDTH = 720
export const HEIGHT = 380
export const MARGIN = Object.freeze({ left: 62, right: 16, top: 22, bottom: 40 })

export interface Frame {
  readonly id: string
  readonly title: string
  /** What it shows and how to read it, for those who cannot see it too. */
  readonly description: string
  readonly xLabel: string
  readonly yLabel: string
  readonly height?: number
  readonly data: {
    readonly heads: readonly string[]
    readonly rows: readonly (readonly string[])[]
  }
  readonly legend?: readonly LegendEntry[]
}

export interface LegendEntry {
  readonly index: number
  readonly name: string
}

export function figure(frame: Frame, drawing: string, after = ''): string {
  const { id, title, description, height = HEIGHT, data, legend = [] } = frame
  const swatches = legend
    .map(({ index, name }) => {
      const line = `<svg viewBox="0 0 28 10" class="swatch s${index}" aria-hidden="true"><path class="line" d="M1 5H27"/></svg>`
      return `<li data-series="${escaped(name)}">${line}${escaped(name)}</li>`
    })
    .join('')
  const list = swatches === '' ? '' : `<ul class="legend">${swatches}</ul>`
  return `<figure class="chart" id="${id}">
<figcaption><strong>${escaped(title)}</strong><span>${escaped(description)}</span></figcaption>${list}
<svg viewBox="0 0 ${WIDTH} ${height}" role="img" aria-labelledby="${id}-t ${id}-d" data-chart="${id}">
<title id="${id}-t">${escaped(title)}</title><desc id="${id}-d">${escaped(description)}</desc>
${drawing}
${axisLabels(frame)}
</svg>${after}
<details><summary>Data</summary>${table(data.heads, data.rows)}</details>
</figure>`
}

function axisLabels({ xLabel, yLabel, height = HEIGHT }: Frame): string {
  const middle = (MARGIN.left + WIDTH - MARGIN.right) / 2
  const y =
    yLabel === ''
      ? ''
      : `<text class="axis" x="${MARGIN.left + 4}" y="15">${escaped(yLabel)}</text>`
  return `${y}<text class="axis" x="${middle}" y="${height - 3}" text-anchor="middle">${escaped(xLabel)}</text>`
}

/** Lines of the grid with their names. Two marks at most stand between one name and the next. */
export function grid(x: Scale, y: Scale | undefined, height = HEIGHT): string {
  const bottom = height - MARGIN.bottom
  const right = WIDTH - MARGIN.right
  const left = y === undefined ? MARGIN.right : MARGIN.left
  const vertical = x.ticks.map((tick) => {
    const at = rounded(x.at(tick))
    return `<path class="grid" d="M${at} ${MARGIN.top}V${bottom}"/><text class="tick" x="${at}" y="${bottom + 18}" text-anchor="middle">${compact(tick)}</text>`
  })
  const horizontal = (y?.ticks ?? []).map((tick) => {
    const at = rounded(y?.at(tick) ?? 0)
    return `<path class="grid" d="M${left} ${at}H${right}"/><text class="tick" x="${MARGIN.left - 6}" y="${at + 4}" text-anchor="end">${compact(tick)}</text>`
  })
  return [...vertical, ...horizontal, `<path class="base" d="M${left} ${bottom}H${right}"/>`].join(
    '',
  )
}

export function rounded(value: number): number {
  return Math.round(value * 10) / 10
}

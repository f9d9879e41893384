/** One time series chart. uPlot draws; this gives it size, theme, marks and a legend that follows the pointer. */
import { useEffect, useRef, useState } from 'react'
import uPlot from 'uplot'

export interface Series {
  readonly name: string
  /** The name of a colour of the theme, without its dashes. */
  readonly color: string
  readonly values: readonly (number | null)[]
}

export interface Mark {
  readonly timeMs: number
  readonly name: string
}

interface ChartProps {
  readonly label: string
  readonly timesMs: readonly number[]
  readonly series: readonly Series[]
  readonly format: (value: number) => string
  readonly marks?: readonly Mark[]
  readonly height?: number
}

const minute = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' })
const day = new Intl.DateTimeFormat(undefined, { weekday: 'short', day: 'numeric' })
const clock = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium', dateStyle: 'short' })

export function Chart(props: ChartProps) {
  const holder = useRef<HTMLDivElement>(null)
  const [at, setAt] = useState<number | null>(null)
  const latest = useRef(props)
  latest.current = props
  const plot = useRef<uPlot | null>(null)
  const drawn = useRef<ChartProps>(null)
  const shape = props.series.map(({ name }) => name).join('\n')
  const { height = 160 } = props
  // biome-ignore lint/correctness/useExhaustiveDependencies: only another shape needs another plot.
  useEffect(() => {
    const element = holder.current
    if (element === null) return undefined
    const make = () => {
      drawn.current = latest.current
      plot.current?.destroy()
      plot.current = new uPlot(
        optionsOf(latest, element, height, setAt),
        dataOf(latest.current),
        element,
      )
    }
    // What is out of sight is drawn when it comes into sight.
    const sight = new IntersectionObserver(([entry]) => {
      if (entry?.isIntersecting !== true || plot.current !== null) return
      make()
    })
    sight.observe(element)
    const observer = new ResizeObserver(() =>
      plot.current?.setSize({ width: element.clientWidth, height }),
    )
    observer.observe(element)
    const scheme = matchMedia('(prefers-color-scheme: dark)')
    const restyle = () => plot.current !== null && make()
    scheme.addEventListener('change', restyle)
    return () => {
      scheme.removeEventListener('change', restyle)
      sight.disconnect()
      observer.disconnect()
      plot.current?.destroy()
      plot.current = null
    }
  }, [shape, height])
  useEffect(() => {
    const { timesMs, series, marks } = props
    const before = drawn.current
    const isSame = before?.timesMs === timesMs && before.marks === marks && before.series === series
    if (plot.current === null || isSame) return
    drawn.current = props
    plot.current.setData(dataOf(props))
  }, [props])
  return (
    <figure style={{ margin: 0 }} aria-label={props.label}>
      <div className="chart" ref={holder} aria-hidden="true" style={{ minHeight: height }} />
      <Legend {...props} at={at} />
    </figure>
  )
}

/** The values below the pointer, else the newest ones: the chart's content in words. */
function Legend(props: ChartProps & { readonly at: number | null }) {
  const { series, timesMs, format, at, marks = [] } = props
  const index = at ?? timesMs.length - 1
  const time = timesMs[index]
  return (
    <figcaption className="legend">
      {series.map(({ name, color, values }) => {
        const value = values[index]
        return (
          <span key={name}>
            <i style={{ background: `var(--${color})` }} />
            {name} {value === null || value === undefined ? '–' : format(value)}
          </span>
        )
      })}
      {at === null || time === undefined ? null : <span>{clock.format(time)}</span>}
      {at === null ? null : <span>{marksAt(marks, timesMs, at)}</span>}
    </figcaption>
  )
}

/** The names of what changed in the step below the pointer. */
function marksAt(marks: readonly Mark[], timesMs: readonly number[], at: number): string {
  const from = timesMs[at] ?? 0
  const to = timesMs[at + 1] ?? Number.POSITIVE_INFINITY
  const here = marks.filter(({ timeMs }) => timeMs >= from && timeMs < to)
  return here.map(({ name }) => name).join(', ')
}

function dataOf({ timesMs, series }: ChartProps): uPlot.AlignedData {
  const times = timesMs.map((time) => time / 1_000)
  return [times, ...series.map(({ values }) => [...values])]
}

function optionsOf(
  latest: { readonly current: ChartProps },
  element: HTMLElement,
  height: number,
  setAt: (index: number | null) => void,
): uPlot.Options {
  const style = getComputedStyle(element)
  const color = (name: string) => style.getPropertyValue(`--${name}`).trim()
  const axis = {
    stroke: color('text-quiet'),
    grid: { stroke: color('line'), width: 1 },
    ticks: { show: false },
    font: `11px ${style.fontFamily}`,
  }
  return {
    width: element.clientWidth,
    height,
    cursor: { y: false, points: { size: 6 }, drag: { x: false, y: false } },
    legend: { show: false },
    scales: {
      x: { range: () => rangeOf(latest.current) },
      y: { range: (_plot, _low, high) => [0, high > 0 ? high * 1.1 : 1] },
    },
    axes: [
      { ...axis, size: 28, space: 80, values: (plot, splits) => timesOf(splits, plot.scales.x) },
      {
        ...axis,
        size: 72,
        space: 34,
        values: (_plot, splits) => splits.map((split) => latest.current.format(split)),
      },
    ],
    series: [
      {},
      ...latest.current.series.map((one) => ({
        stroke: color(one.color),
        width: 1.5,
        spanGaps: false,
        // A value between two gaps is part of no line.
        points: { show: true, size: 4, filter: lonePoints },
      })),
    ],
    hooks: {
      setCursor: [({ cursor }) => setAt(cursor.idx ?? null)],
      draw: [(drawn) => drawMarks(drawn, latest.current.marks ?? [], color('series-3'))],
    },
  }
}

/** To the end of the newest step, where the latest changes are. */
function rangeOf({ timesMs }: ChartProps): [number, number] {
  const first = timesMs[0] ?? Date.now()
  const last = timesMs.at(-1) ?? first
  const stepMs = (timesMs[1] ?? first + 60_000) - first
  return [first / 1_000, (last + stepMs) / 1_000]
}

function timesOf(splits: readonly number[], scale: uPlot.Scale | undefined): string[] {
  const spanSeconds = (scale?.max ?? 0) - (scale?.min ?? 0)
  const format = spanSeconds > 172_800 ? day : minute
  return splits.map((split) => format.format(split * 1_000))
}

function lonePoints(plot: uPlot, index: number): number[] {
  const values = plot.data[index] ?? []
  const has = (at: number) => values[at] !== null && values[at] !== undefined
  const lone: number[] = []
  for (let at = 0; at < values.length; at += 1) {
    if (has(at) && !has(at - 1) && !has(at + 1)) lone.push(at)
  }
  return lone
}

/** What changed, as dashed lines where it did. */
function drawMarks(plot: uPlot, marks: readonly Mark[], color: string): void {
  const { ctx, bbox } = plot
  ctx.save()
  ctx.strokeStyle = color
  ctx.setLineDash([3 * devicePixelRatio, 3 * devicePixelRatio])
  for (const { timeMs } of marks) {
    const x = plot.valToPos(timeMs / 1_000, 'x', true)
    if (x < bbox.left || x > bbox.left + bbox.width) continue
    ctx.beginPath()
    ctx.moveTo(x, bbox.top)
    ctx.lineTo(x, bbox.top + bbox.height)
    ctx.stroke()
  }
  ctx.restore()
}

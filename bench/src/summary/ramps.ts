/** What a ramp says: the most that was sustained, and its four curves over the offered rate. */
import type { Artifacts, Series, SeriesRow } from '../artifacts/records.ts'
import { medianOf } from '../honesty/honesty-test.ts'
import type { Curve, Point, RampReport } from './report-record.ts'

const SETTLED_SECONDS = 3
const KEEP_UP = 0.9
const PLAIN_KEEP_UP = 0.95
const SUSTAINED_WINDOWS = 5
const P99_NEIGHBOURS = 9
const CPU_NEIGHBOURS = 7
const SHED_NEIGHBOURS = 15

/** A band: what is above the offer drains a queue, which is no throughput. Good answers alone count. */
function keepsUp(row: SeriesRow): boolean {
  const { ok_rate, offered_rate } = row
  return ok_rate >= KEEP_UP * offered_rate && ok_rate <= offered_rate / KEEP_UP
}

/** The last sliver of a run is no window: its rate is that of a moment. */
export function fullWindows(rows: readonly SeriesRow[]): SeriesRow[] {
  const widths = rows.map((row, index) => row.t - (rows[index - 1]?.t ?? 0))
  const middle = medianOf(widths)
  return rows.filter((row, index) => row.t >= SETTLED_SECONDS && (widths[index] ?? 0) >= middle / 2)
}

/** The greatest of the medians of five windows in a row that all keep up: one lucky second does not count. */
export function sustainedOf(rows: readonly SeriesRow[]): number {
  const windows = fullWindows(rows)
  let most = 0
  for (let end = SUSTAINED_WINDOWS; end <= windows.length; end += 1) {
    const five = windows.slice(end - SUSTAINED_WINDOWS, end)
    if (five.every(keepsUp)) most = Math.max(most, medianOf(five.map(({ ok_rate }) => ok_rate)))
  }
  return most
}

/** As zrk computes it, from answers of any kind in the window's own band. */
export function zrkSustainedOf(rows: readonly SeriesRow[]): number {
  const kept = fullWindows(rows).filter(
    ({ achieved_rate, offered_rate }) =>
      achieved_rate >= KEEP_UP * offered_rate && achieved_rate <= offered_rate / KEEP_UP,
  )
  return Math.max(0, ...kept.map(({ achieved_rate }) => achieved_rate))
}

export function rampReportOf(artifacts: Artifacts, scenario: string): RampReport | null {
  // One curve for each proxy: the round in the middle would hide a disturbed one, so the first is drawn.
  const drawn = new Map<string, Series>()
  for (const series of artifacts.series) {
    if (series.scenario !== scenario || series.role === 'again') continue
    if (!drawn.has(series.proxy)) drawn.set(series.proxy, series)
  }
  if (drawn.size === 0) return null
  const all = [...drawn.values()]
  const curves = (draw: (rows: readonly SeriesRow[]) => Curve['points']): Curve[] =>
    all.map(({ proxy, rows }) => ({ proxy, points: draw(rows) }))
  const lastKept = all.flatMap(({ rows }) =>
    rows
      .filter((row) => row.t >= SETTLED_SECONDS && keepsUp(row))
      .map(({ offered_rate }) => offered_rate),
  )
  const most = Math.max(0, ...all.flatMap(({ rows }) => rows.map((row) => row.offered_rate)))
  return {
    scenario,
    rps: curves((rows) => rows.map((row): Point => [row.offered_rate, row.ok_rate])),
    cpu: curves(cpuCurve),
    p99: curves(p99Curve),
    shed: curves(shedCurve),
    offeredMax: lastKept.length === 0 ? most : Math.min(most, 1.1 * Math.max(...lastKept)),
  }
}

function cpuCurve(rows: readonly SeriesRow[]): Curve['points'] {
  return rows.map((row, index) => {
    const around = neighbours(rows, index, CPU_NEIGHBOURS).flatMap(({ cpu }) => cpu ?? [])
    return around.length === 0 ? null : [row.offered_rate, medianOf(around)]
  })
}

/** A gap where the proxy does not keep up: what stands in a queue has no latency of its own. */
function p99Curve(rows: readonly SeriesRow[]): Curve['points'] {
  return rows.map((row, index) => {
    if (row.t < SETTLED_SECONDS || row.ok_rate < PLAIN_KEEP_UP * row.offered_rate) return null
    const around = neighbours(rows, index, P99_NEIGHBOURS)
    const p99 = medianOf(around.map(({ latency_us }) => latency_us.p99))
    return p99 <= 0 ? null : [row.offered_rate, p99 / 1_000]
  })
}

function shedCurve(rows: readonly SeriesRow[]): Curve['points'] {
  const settled = rows.filter(({ t }) => t >= SETTLED_SECONDS)
  return settled.map((row, index) => {
    const shares = neighbours(settled, index, SHED_NEIGHBOURS).map(
      ({ ok_rate, offered_rate }) => 1 - ok_rate / Math.max(offered_rate, 1),
    )
    // Clamped after smoothing: noise around zero must cancel out.
    return [row.offered_rate, Math.max(0, medianOf(shares))]
  })
}

function neighbours<T>(items: readonly T[], at: number, width: number): readonly T[] {
  const half = Math.floor(width / 2)
  return items.slice(Math.max(0, at - half), at + half + 1)
}

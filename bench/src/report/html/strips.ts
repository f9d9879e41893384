/** A small picture of each run, second by second, so that a disturbed one is seen. */
import type { StripReport } from '../../summary/report-record.ts'
import { pathOf } from './line-chart.ts'
import { escaped } from './markup.ts'
import { compact, linearScale } from './scale.ts'

const WIDTH = 220
const HEIGHT = 64

export function strips(all: readonly StripReport[], indexOf: (proxy: string) => number): string {
  const drawn = all
    .filter(({ rps }) => rps.length > 1)
    .map((strip) => drawStrip(strip, indexOf(strip.proxy)))
  return drawn.length === 0 ? '' : `<div class="strips">${drawn.join('')}</div>`
}

function drawStrip(strip: StripReport, index: number): string {
  const { proxy, scenario, round, role, isNoisy, rps, p99Us, foreign } = strip
  const x = linearScale([rps.length - 1], [2, WIDTH - 2], { ticksMax: Math.max(1, rps.length - 1) })
  const across = (values: readonly (number | null)[], top: number, greatest: number) => {
    const y = linearScale([greatest], [HEIGHT - 4, top])
    return pathOf(
      values.map((value, second) => (value === null ? null : [second, value])),
      x,
      y,
    )
  }
  const others = foreign.some((value) => value !== null)
    ? `<path class="foreign" d="${across(foreign, HEIGHT - 24, 1)}"/>`
    : ''
  const most = Math.max(...rps)
  const slowest = Math.max(...p99Us)
  const what = `${proxy} ${scenario} ${role === 'again' ? 'again, ' : ''}round ${round + 1}`
  const facts = `up to ${compact(most)}/s, p99 up to ${compact(slowest / 1_000)} ms`
  return `<figure class="strip${isNoisy ? ' noisy' : ''}"><figcaption>${escaped(what)}${isNoisy ? ' · noisy' : ''}<span>${facts}</span></figcaption>
<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" class="s${index}" role="img" aria-label="${escaped(`${what}: ${facts}`)}"><path class="line" d="${across(rps, 4, most)}"/><path class="tail" d="${across(p99Us, 4, slowest)}"/>${others}</svg></figure>`
}

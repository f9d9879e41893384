/** How figures are written: the same in the terminal, in Markdown and on the page. */

export const DASH = '–'

export function whole(value: number | null | undefined): string {
  return value === null || value === undefined ? DASH : Math.round(value).toLocaleString('en-US')
}

export function milliseconds(us: number | null | undefined): string {
  if (us === null || us === undefined) return DASH
  const ms = us / 1_000
  if (ms >= 59_000) return '≥60s'
  if (ms >= 1_000) return `${(ms / 1_000).toFixed(2)} s`
  return `${ms.toFixed(ms >= 100 ? 0 : ms >= 10 ? 1 : 2)} ms`
}

/** Without unit, as tables have it whose heads name it. */
export function plainMilliseconds(us: number | null | undefined): string {
  return us === null || us === undefined ? DASH : (us / 1_000).toFixed(2)
}

export function microseconds(us: number | null | undefined): string {
  if (us === null || us === undefined) return DASH
  return `${us >= 100 ? Math.round(us) : us.toFixed(1)} µs`
}

export function mebibytes(bytes: number | null | undefined): string {
  if (bytes === null || bytes === undefined) return DASH
  const value = bytes / 1_048_576
  return `${value >= 10 ? Math.round(value) : value.toFixed(1)} MiB`
}

export function share(value: number | null | undefined, digits = 0): string {
  return value === null || value === undefined ? DASH : `${(value * 100).toFixed(digits)} %`
}

export function change(value: number): string {
  const rounded = Math.round(value * 100)
  if (rounded === 0) return 'same'
  return `${rounded > 0 ? '+' : '−'}${Math.abs(rounded)}%`
}

/** Half of the range over the middle, as ± is to be read everywhere here. */
export function spread(one: { median: number; min: number; max: number } | null): string {
  if (one === null || one.median === 0) return ''
  return `±${(((one.max - one.min) / 2 / one.median) * 100).toFixed(0)} %`
}

/** Six significant digits with a thousand's suffix, as zrk prints. */
export function zrkNumber(value: number | null | undefined): string {
  if (value === null || value === undefined) return DASH
  if (value >= 1e6) return `${Number((value / 1e6).toPrecision(6))}M`
  return value >= 1_000
    ? `${Number((value / 1_000).toPrecision(6))}k`
    : String(Number(value.toPrecision(6)))
}

const SUPERSCRIPTS = '⁰¹²³⁴⁵⁶⁷⁸⁹'

export function superscript(numbers: readonly number[]): string {
  const raised = numbers.map((number) =>
    String(number)
      .split('')
      .map((digit) => SUPERSCRIPTS[Number(digit)])
      .join(''),
  )
  return raised.length === 0 ? '' : ` ${raised.join('˒')}`
}

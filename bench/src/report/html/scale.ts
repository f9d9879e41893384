/** Where a value stands on an axis, and which values the axis names. */

export interface Scale {
  readonly ticks: readonly number[]
  at(value: number): number
}

/** From zero, or from the least value, to ticks of {1, 2, 2.5, 5} × 10ⁿ that cover the greatest. */
export function linearScale(
  values: readonly number[],
  [from, to]: readonly [number, number],
  { least = 0, ticksMax = 6 } = {},
): Scale {
  const greatest = Math.max(...values.filter(Number.isFinite), least + 1e-9)
  const step = niceStep((greatest - least) / ticksMax)
  const first = Math.floor(least / step)
  const last = Math.max(Math.ceil(greatest / step - 1e-9), first + 1)
  const ticks = Array.from({ length: last - first + 1 }, (_, index) => {
    return Number(((first + index) * step).toPrecision(12))
  })
  const [low, high] = [first * step, last * step]
  return { ticks, at: (value) => from + ((value - low) / (high - low)) * (to - from) }
}

/** Whole decades. */
export function logScale(values: readonly number[], [from, to]: readonly [number, number]): Scale {
  const known = values.filter((value) => value > 0 && Number.isFinite(value))
  const first = Math.floor(Math.log10(Math.min(...known, Number.MAX_VALUE)) + 1e-9)
  const [low, high] = known.length === 0 ? [0, 1] : [first, lastDecade(known, first)]
  const ticks = Array.from({ length: high - low + 1 }, (_, index) => 10 ** (low + index))
  return {
    ticks,
    at: (value) => {
      const place = Math.log10(Math.max(value, 10 ** low))
      return from + ((place - low) / (high - low)) * (to - from)
    },
  }
}

function lastDecade(values: readonly number[], first: number): number {
  return Math.max(Math.ceil(Math.log10(Math.max(...values)) - 1e-9), first + 1)
}

function niceStep(rough: number): number {
  const power = 10 ** Math.floor(Math.log10(rough))
  for (const factor of [1, 2, 2.5, 5]) {
    if (factor * power >= rough * (1 - 1e-9)) return factor * power
  }
  return 10 * power
}

/** As short as an axis needs it. */
export function compact(value: number): string {
  if (value === 0) return '0'
  const size = Math.abs(value)
  if (size >= 1e6) return `${Number((value / 1e6).toPrecision(3))}M`
  if (size >= 1_000) return `${Number((value / 1_000).toPrecision(3))}k`
  return String(Number(value.toPrecision(3)))
}

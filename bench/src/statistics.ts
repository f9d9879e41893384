/** Summaries of a handful of rounds. */

export interface Spread {
  readonly median: number
  readonly least: number
  readonly most: number
}

export function spreadOf(values: readonly number[]): Spread {
  const sorted = values.toSorted((left, right) => left - right)
  const [least] = sorted
  const most = sorted.at(-1)
  if (least === undefined || most === undefined) throw new Error('no values to summarise')
  const middle = (sorted.length - 1) / 2
  const low = sorted[Math.floor(middle)] ?? least
  const high = sorted[Math.ceil(middle)] ?? most
  return { median: (low + high) / 2, least, most }
}

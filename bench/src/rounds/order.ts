/** Who is measured when in a round. What drifts on the machine must hit all alike. */
import type { RunRecord } from '../artifacts/records.ts'

export interface Turn {
  readonly proxy: string
  readonly role: RunRecord['role']
}

/** The start moves on from round to round, and the reference comes a second time, half a round after the first. */
export function turnsOf(proxies: readonly string[], reference: string, round: number): Turn[] {
  const start = proxies.length === 0 ? 0 : round % proxies.length
  const order = [...proxies.slice(start), ...proxies.slice(0, start)]
  const turns = order.map((proxy): Turn => ({ proxy, role: 'measured' }))
  const first = order.indexOf(reference)
  if (first === -1) return turns
  const half = Math.ceil(order.length / 2)
  const again: Turn = { proxy: reference, role: 'again' }
  // Never right after itself where there is anybody else.
  const place = first + half + 1 <= turns.length ? first + half + 1 : Math.max(0, first - half)
  turns.splice(place, 0, again)
  // Put before the first, it is the first that counts: both are measured alike.
  return place <= first ? swapped(turns, reference) : turns
}

function swapped(turns: readonly Turn[], reference: string): Turn[] {
  return turns.map((turn) => {
    if (turn.proxy !== reference) return turn
    return { proxy: reference, role: turn.role === 'again' ? 'measured' : 'again' }
  })
}

/** A B B A, then B A A B: each is as often first as last. */
export function pairedTurns([left, right]: readonly [string, string], round: number): Turn[] {
  const [a, b] = round % 2 === 0 ? [left, right] : [right, left]
  return [
    { proxy: a, role: 'measured' },
    { proxy: b, role: 'measured' },
    { proxy: b, role: 'again' },
    { proxy: a, role: 'again' },
  ]
}

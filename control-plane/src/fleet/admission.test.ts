import { afterEach, expect, it, vi } from 'vitest'
import { Admission, type AdmissionOutcome, type Lane } from './admission.ts'

let nowMs = 0
let admission = make({})

function make(options: { perSecond?: number; burst?: number; waitingMax?: number }): Admission {
  return new Admission({ perSecond: 100, burst: 2, waitingMax: 10, now: () => nowMs, ...options })
}

afterEach(() => {
  admission.stop()
  nowMs = 0
})

/** What became of each so far, in the order of the outcomes. */
function enterAll(...entries: readonly (readonly [name: string, Lane, (() => boolean)?])[]) {
  const outcomes: [string, AdmissionOutcome][] = []
  for (const [name, lane, isWanted = () => true] of entries) {
    void admission.enter(lane, isWanted).then((outcome) => outcomes.push([name, outcome]))
  }
  return outcomes
}

it('admits a burst at once and the others at the rate, configuration first', async () => {
  admission = make({ burst: 1 })
  const outcomes = enterAll(
    ...(['a', 'b'] as const).map((name) => [name, 'reports'] as const),
    ...(['c', 'd'] as const).map((name) => [name, 'configuration'] as const),
  )
  await vi.waitFor(() => expect(outcomes).toEqual([['a', 'admitted']]))
  const order = ['a', 'c', 'd', 'b']
  for (let admitted = 2; admitted <= 4; admitted += 1) {
    nowMs += 10
    await vi.waitFor(() => expect(outcomes.map(([name]) => name)).toEqual(order.slice(0, admitted)))
  }
})

it('spends nothing on who has left meanwhile', async () => {
  admission = make({ burst: 1 })
  let isThere = true
  const outcomes = enterAll(
    ['a', 'configuration'],
    ['b', 'configuration', () => isThere],
    ['c', 'configuration'],
  )
  await vi.waitFor(() => expect(outcomes).toEqual([['a', 'admitted']]))
  isThere = false
  nowMs += 10
  await vi.waitFor(() =>
    expect(outcomes).toEqual([
      ['a', 'admitted'],
      ['b', 'left'],
      ['c', 'admitted'],
    ]),
  )
})

it('refuses who comes when too many wait, and lets all go when it stops', async () => {
  admission = make({ burst: 1, waitingMax: 1 })
  const outcomes = enterAll(
    ...(['a', 'b', 'c'] as const).map((name) => [name, 'configuration'] as const),
  )
  await vi.waitFor(() => expect(outcomes).toContainEqual(['c', 'too-many']))
  admission.stop()
  await vi.waitFor(() => expect(outcomes).toContainEqual(['b', 'left']))
})

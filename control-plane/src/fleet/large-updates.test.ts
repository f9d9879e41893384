import { expect, it, vi } from 'vitest'
import { LargeUpdates } from './large-updates.ts'

function enter(updates: LargeUpdates, ...sizes: number[]) {
  const turns: { readonly bytes: number; readonly leave: () => void }[] = []
  for (const bytes of sizes) updates.enter(bytes, (leave) => turns.push({ bytes, leave }))
  return turns
}

it('lets in as much as fits, and the next when one has left', () => {
  const updates = new LargeUpdates({ largeBytesInFlightMax: 10, largeTurnMs: 60_000 })
  const turns = enter(updates, 4, 5, 3, 8)
  expect(turns.map(({ bytes }) => bytes)).toEqual([4, 5])
  turns[0]?.leave()
  turns[0]?.leave()
  expect(turns.map(({ bytes }) => bytes)).toEqual([4, 5, 3])
  turns[1]?.leave()
  expect(turns).toHaveLength(3)
  turns[2]?.leave()
  expect(turns.map(({ bytes }) => bytes)).toEqual([4, 5, 3, 8])
})

it('lets one that is larger than the budget go alone', () => {
  const updates = new LargeUpdates({ largeBytesInFlightMax: 10, largeTurnMs: 60_000 })
  const turns = enter(updates, 50, 1)
  expect(turns).toHaveLength(1)
  turns[0]?.leave()
  expect(turns).toHaveLength(2)
})

it('goes on without one that takes too long', async () => {
  const updates = new LargeUpdates({ largeBytesInFlightMax: 10, largeTurnMs: 20 })
  const turns = enter(updates, 10, 10, 10)
  await vi.waitFor(() => expect(turns).toHaveLength(3))
})

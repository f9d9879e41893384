import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { hashOf, TestFleet } from './testing/test-fleet.ts'
import { apply, nextUpdate, TestNode } from './testing/test-node.ts'

let fleet: TestFleet
let node: TestNode

beforeEach(async () => {
  fleet = await TestFleet.start()
  node = await TestNode.enrolled(fleet, 'edge-1')
})

afterEach(async () => {
  node.close()
  await fleet.remove()
})

/** Publishes as a publisher does that was told to go on after a number. */
const publisher = {
  current: () => fleet.versions.current(),
  publishBeyond: async (number: number) => {
    fleet.versions.publish(BigInt(number + 1))
    return number + 1
  },
}

/** The operator's log has it; nothing else may be in there. */
function takeErrors(): string[] {
  return fleet.errors.splice(0)
}

it('sends nothing to nodes once one of them runs a version that was never published, over a restart too', async () => {
  fleet.versions.publish(2n)
  const ahead = await node.connected({ version: 9n, hash: hashOf(9n) })
  expect(fleet.history.newestSeen).toBe(9)
  expect(takeErrors()).toEqual([expect.stringMatching(/older backup/)])
  fleet.versions.publish(3n)
  await fleet.restart()
  expect(takeErrors()).toEqual([expect.stringMatching(/older backup/)])
  expect(fleet.history.newestSeen).toBe(9)
  node.close()
  const again = await node.connected({ version: 9n, hash: hashOf(9n) })
  for (let number = 4n; number <= 12n; number += 1n) fleet.versions.publish(number)
  await vi.waitFor(async () => {
    expect(await fleet.node('edge-1')).toMatchObject({ version: 9, desiredVersion: 12 })
  })
  expect([ahead.unread, again.unread]).toEqual([0, 0])
})

it('goes on under a number after all that were seen when the operator accepts', async () => {
  fleet.versions.publish(2n)
  const stream = await node.connected({ version: 9n, hash: hashOf(9n) })
  expect(await fleet.history.accept(publisher, { author: 'admin' })).toBe(10)
  expect(await apply(stream)).toBe(10n)
  expect(fleet.history.newestSeen).toBeUndefined()
  takeErrors()
  await fleet.restart()
  expect(fleet.history.newestSeen).toBeUndefined()
})

it('notices what was published elsewhere when the numbers here have gone past it, until the operator accepts', async () => {
  for (let number = 1n; number <= 5n; number += 1n) fleet.versions.publish(number)
  const older = await node.connected({ version: 4n, hash: hashOf(99n) })
  const second = await TestNode.enrolled(fleet, 'edge-2')
  const newest = await second.connected({ version: 5n, hash: hashOf(98n) })
  expect(fleet.history.newestSeen).toBe(5)
  expect(takeErrors()).toHaveLength(2)
  fleet.versions.publish(6n)
  expect([older.unread, newest.unread]).toEqual([0, 0])
  expect(await fleet.history.accept(publisher, { author: 'admin' })).toBe(6)
  expect(await apply(older)).toBe(6n)
  expect(await apply(newest)).toBe(6n)
  // One that was off meanwhile is settled with them.
  await fleet.restart()
  const late = await TestNode.enrolled(fleet, 'edge-3')
  const stream = late.connect({ version: 3n, hash: hashOf(97n) })
  expect(await apply(stream)).toBe(6n)
  for (const one of [second, late]) one.close()
})

it('takes what a node was known to run for published, whatever its labels select now', async () => {
  fleet.versions.publish(2n)
  await fleet.db
    .updateTable('node')
    .set({ version: 2, hash: hashOf(77n) })
    .execute()
  fleet.versions.publish(3n)
  const stream = node.connect({ version: 2n, hash: hashOf(77n) })
  expect(await apply(stream)).toBe(3n)
})

it('goes on sending to nodes that run nothing', async () => {
  fleet.versions.publish(2n)
  await node.connected({ version: 9n, hash: hashOf(9n) })
  const fresh = await TestNode.enrolled(fleet, 'edge-2')
  expect((await nextUpdate(fresh.connect())).version).toBe(2n)
  fresh.close()
  takeErrors()
})

import { ResourceKind } from '@sluice/proto'
import { expect, it } from 'vitest'
import { ResourceSet } from './resource-set.ts'
import { router, service } from './resources.fixture.ts'

const all = Array.from({ length: 40 }, (_, index) => router(`r${index}`, 's'))
const whole = (resources: Buffer[]) => ResourceSet.fromSnapshot({ resources })

it('comes to the same hash by any order of the resources and by deltas', () => {
  const hash = whole(all).hash()
  expect(whole(all.toReversed()).hash()).toBe(hash)
  let set = whole([])
  for (const resource of all) set = set.withDelta({ resources: [resource], removed: [] })
  expect(set.hash()).toBe(hash)
})

it('replaces, adds and removes with one delta, and leaves the set before as it was', () => {
  const before = whole(all)
  const hash = before.hash()
  const replaced = router('r7', 'other', ['a.example'])
  const added = service('other', 'http://127.0.0.1:1')
  const after = before.withDelta({
    resources: [added, replaced],
    removed: [
      { kind: ResourceKind.ROUTER, name: 'r0' },
      { kind: ResourceKind.ROUTER, name: 'was never there' },
    ],
  })
  const expected = [...all.slice(1, 7), replaced, ...all.slice(8), added]
  expect(after.hash()).toBe(whole(expected).hash())
  expect(after.resources().toSorted(Buffer.compare)).toEqual(expected.toSorted(Buffer.compare))
  expect(before.hash()).toBe(hash)
})

it('takes what a delta removes and brings again as brought', () => {
  const after = whole(all).withDelta({
    resources: [router('r1', 's')],
    removed: [{ kind: ResourceKind.ROUTER, name: 'r1' }],
  })
  expect(after.hash()).toBe(whole(all).hash())
})

it('tells what takes it from any other set, at once where that is its base', () => {
  const before = whole(all.slice(0, 30))
  const delta = {
    resources: [router('new', 's')],
    removed: [{ kind: ResourceKind.ROUTER, name: 'r3' }],
  }
  const after = before.withDelta(delta)
  expect(after.changeFrom(before)).toMatchObject(delta)
  expect(after.changeFrom(after)).toEqual({ removed: [], resources: [] })
  expect(after.changeFrom(undefined)).toEqual({ removed: [], resources: after.resources() })
  const others = [whole(all.slice(10)), whole([router('r5', 'other')]), after.withDelta(delta)]
  for (const other of others) {
    expect(other.withDelta(after.changeFrom(other)).hash()).toBe(after.hash())
    expect(after.withDelta(other.changeFrom(after)).hash()).toBe(other.hash())
  }
})

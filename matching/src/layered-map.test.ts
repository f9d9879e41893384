import { expect, it } from 'vitest'
import { LayeredMap } from './layered-map.ts'

it('is what a map is that is copied and changed, over many changes, and leaves those before as they were', () => {
  let layered = LayeredMap.of(new Map(Array.from({ length: 300 }, (_, at) => [`k${at}`, at])))
  let plain = new Map(layered)
  const versions: [LayeredMap<number>, Map<string, number>][] = [[layered, plain]]
  for (let step = 0; step < 300; step += 1) {
    const removed = [`k${(step * 37) % 400}`, `k${(step * 11) % 90}`]
    const put = Array.from({ length: step % 5 }, (_, at): [string, number] => [
      `k${(step * 13 + at) % 400}`,
      step,
    ])
    layered = layered.with(put, removed)
    plain = new Map(plain)
    for (const key of removed) plain.delete(key)
    for (const [key, value] of put) plain.set(key, value)
    versions.push([layered, plain])
  }
  for (const [one, other] of versions) {
    expect(new Map(one)).toEqual(other)
    expect(one.size).toBe(other.size)
    for (let at = 0; at < 400; at += 1) {
      expect([one.has(`k${at}`), one.get(`k${at}`)]).toEqual([
        other.has(`k${at}`),
        other.get(`k${at}`),
      ])
    }
  }
  for (const [at, [after, plainAfter]] of versions.entries()) {
    const [before, plainBefore] = versions[Math.max(0, at - 1)] ?? [after, plainAfter]
    const unlike = new Set(after.keysUnlike(before))
    for (const key of new Set([...plainBefore.keys(), ...plainAfter.keys()])) {
      if (plainBefore.get(key) !== plainAfter.get(key)) expect(unlike).toContain(key)
    }
  }
})

it('replaces at the place of what was there', () => {
  const map = LayeredMap.of(new Map(Object.entries({ a: 1, b: 2, c: 3 })))
  const changed = map.with(Object.entries({ d: 4, b: 5 }), ['a'])
  expect([...changed]).toEqual(Object.entries({ b: 5, c: 3, d: 4 }))
  expect([...changed.keys()]).toEqual(['b', 'c', 'd'])
  expect([...changed.values()]).toEqual([5, 3, 4])
})

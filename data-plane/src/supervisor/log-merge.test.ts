import { LogLine } from '@sluice/proto'
import { expect, it } from 'vitest'
import type { ClassSample, LogSample } from '../worker-protocol.ts'
import { LogMerge, mergeSecond } from './log-merge.ts'

/** mulberry32: small, seeded, good enough to draw with. */
function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** What a worker keeps of exchanges with these names: a uniform reservoir. */
function reservoir(names: readonly string[], cap: number, random: () => number): ClassSample {
  const kept: string[] = []
  names.forEach((name, at) => {
    if (kept.length < cap) kept.push(name)
    else {
      const place = Math.floor(random() * (at + 1))
      if (place < cap) kept[place] = name
    }
  })
  const lines = kept.map((path) => ({ ...LogLine.decode(new Uint8Array()), path }))
  return { seen: names.length, lines }
}

function names(prefix: string, count: number): string[] {
  return Array.from({ length: count }, (_, at) => `${prefix}${at}`)
}

const NONE: ClassSample = { seen: 0, lines: [] }

function sample(secondMs: number, ordinary: ClassSample, notable: ClassSample = NONE): LogSample {
  return { secondMs, ordinary, notable }
}

it('gives every exchange of a class the same chance, whichever worker had it', () => {
  const random = seeded(1)
  const runs = 20_000
  const cap = 10
  const drawn = new Map<string, number>()
  for (let run = 0; run < runs; run += 1) {
    const samples = [
      sample(0, reservoir(names('a', 40), cap, random)),
      sample(0, reservoir(names('b', 7), cap, random)),
      sample(0, reservoir(names('c', 13), cap, random)),
    ]
    const { lines } = mergeSecond(samples, cap, random)
    expect(lines).toHaveLength(cap)
    for (const { path } of lines) drawn.set(path, (drawn.get(path) ?? 0) + 1)
  }
  expect(drawn.size).toBe(60)
  const expected = (runs * cap) / 60
  // Six standard deviations of a binomial count.
  const tolerance = 6 * Math.sqrt(runs * (cap / 60) * (1 - cap / 60))
  for (const count of drawn.values()) expect(Math.abs(count - expected)).toBeLessThan(tolerance)
})

it('makes weights whose sum is what was seen, in each class', () => {
  const random = seeded(2)
  const samples = [
    sample(0, reservoir(names('a', 500), 10, random), reservoir(names('x', 90), 10, random)),
    sample(0, reservoir(names('b', 100), 10, random), reservoir(names('y', 10), 10, random)),
  ]
  const { lines, notKept } = mergeSecond(samples, 10, random)
  const weightOf = (prefixes: string) =>
    lines
      .filter(({ path }) => prefixes.includes(path.charAt(0)))
      .reduce((sum, { weight }) => sum + weight, 0)
  expect(weightOf('ab')).toBeCloseTo(600, 9)
  expect(weightOf('xy')).toBeCloseTo(100, 9)
  expect(lines.length + notKept).toBe(700)
})

it.each([
  ['plenty of both', 100, 100, 10, 7, 3],
  ['few notable', 100, 1, 10, 9, 1],
  ['few ordinary', 2, 100, 10, 2, 8],
  ['few of both', 3, 2, 10, 3, 2],
  ['a cap of two', 100, 100, 2, 1, 1],
  ['no lines at all', 100, 100, 0, 0, 0],
])('with %s shares the lines out', (_name, ordinarySeen, notableSeen, cap, ordinary, notable) => {
  const random = seeded(3)
  const samples = [
    sample(
      0,
      reservoir(names('o', ordinarySeen), cap, random),
      reservoir(names('n', notableSeen), cap, random),
    ),
  ]
  const { lines, notKept } = mergeSecond(samples, cap, random)
  expect(lines.filter(({ path }) => path.startsWith('o'))).toHaveLength(ordinary)
  expect(lines.filter(({ path }) => path.startsWith('n'))).toHaveLength(notable)
  expect(lines.length + notKept).toBe(ordinarySeen + notableSeen)
})

it('estimates both classes without bias even from a single line', () => {
  const random = seeded(4)
  const runs = 50_000
  let notable = 0
  for (let run = 0; run < runs; run += 1) {
    const samples = [
      sample(0, reservoir(names('o', 30), 1, random), reservoir(names('n', 10), 1, random)),
    ]
    const [line] = mergeSecond(samples, 1, random).lines
    if (line?.path.startsWith('n')) notable += line.weight
  }
  expect(notable / runs).toBeGreaterThan(9.6)
  expect(notable / runs).toBeLessThan(10.4)
})

it('draws no more than the smallest sample allows, so that none is favoured', () => {
  const random = seeded(5)
  const samples = [
    sample(0, reservoir(names('a', 100), 3, random)),
    sample(0, reservoir(names('b', 100), 10, random)),
  ]
  expect(mergeSecond(samples, 10, random).lines).toHaveLength(3)
})

it('closes a second one tick after all workers reported it', () => {
  const merge = new LogMerge(seeded(6))
  const [one, other] = [{}, {}]
  merge.add(one, sample(1_000, reservoir(['/a'], 5, Math.random)))
  expect(merge.tick(2_250, [one, other], 5)).toEqual([])
  merge.add(other, sample(1_000, reservoir(['/b'], 5, Math.random)))
  expect(merge.tick(2_500, [one, other], 5)).toEqual([])
  const [closed] = merge.tick(2_750, [one, other], 5)
  expect(closed?.lines.map(({ path }) => path).sort()).toEqual(['/a', '/b'])
})

it('closes a second after two more when a worker is silent, and counts what comes later', () => {
  const merge = new LogMerge(seeded(7))
  const [one, silent] = [{}, {}]
  merge.add(one, sample(1_000, reservoir(['/a'], 5, Math.random)))
  expect(merge.tick(3_900, [one, silent], 5)).toEqual([])
  expect(merge.tick(4_000, [one, silent], 5)).toMatchObject([{ notKept: 0 }])
  merge.add(silent, sample(1_000, reservoir(['/b', '/c'], 5, Math.random)))
  expect(merge.tick(5_000, [one, silent], 5)).toEqual([{ lines: [], notKept: 2 }])
})

it('closes what a clock that was set back left ahead, and takes the seconds that it says now', () => {
  const merge = new LogMerge(seeded(8))
  const [one, other] = [{}, {}]
  merge.add(one, sample(7_200_000, reservoir(['/closed'], 5, Math.random)))
  expect(merge.tick(7_204_000, [one, other], 5)).toMatchObject([{ notKept: 0 }])
  merge.add(one, sample(7_205_000, reservoir(['/ahead'], 5, Math.random)))
  merge.add(one, sample(3_600_000, reservoir(['/now'], 5, Math.random)))
  merge.add(other, sample(3_600_000, reservoir(['/now'], 5, Math.random)))
  const paths = [3_601_250, 3_602_250].flatMap((now) =>
    merge.tick(now, [one, other], 5).flatMap(({ lines }) => lines.map(({ path }) => path)),
  )
  expect(paths.sort()).toEqual(['/ahead', '/now', '/now'])
})

it('lets kept and not kept add up to what was seen, whatever comes when', () => {
  const random = seeded(8)
  const merge = new LogMerge(random)
  const workers = [{}, {}, {}]
  let seen = 0
  let counted = 0
  const count = (seconds: ReturnType<LogMerge['tick']>) => {
    for (const { lines, notKept } of seconds) counted += lines.length + notKept
  }
  for (let now = 10_000; now < 60_000; now += 500) {
    for (const worker of workers) {
      if (random() < 0.4) continue
      const secondMs = Math.floor((now - random() * 5_000) / 1_000) * 1_000
      const ordinary = reservoir(names('o', Math.floor(random() * 30)), 4, random)
      const notable = reservoir(names('n', Math.floor(random() * 5)), 4, random)
      seen += ordinary.seen + notable.seen
      merge.add(worker, sample(secondMs, ordinary, notable))
    }
    count(merge.tick(now, workers, 4))
  }
  count(merge.finish(4))
  expect(counted).toBe(seen)
})

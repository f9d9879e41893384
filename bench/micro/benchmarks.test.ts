/** That the micro benchmarks run and do the work that they time. How fast says nothing here. */
import { globSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { benchmarks } from './benchmarks.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

it('every micro benchmark is in the list, at the path of its source', () => {
  const files = globSync('bench/micro/**/*.bench.ts', { cwd: ROOT })
  const sources = globSync('{data-plane,matching}/src/**/*.ts', { cwd: ROOT })
  expect(
    benchmarks.map(({ source }) => `bench/micro/${source.replace(/ts$/, 'bench.ts')}`).sort(),
  ).toEqual(files.sort())
  expect(sources).toEqual(expect.arrayContaining(benchmarks.map(({ source }) => source)))
})

const CHECKSUMS: Record<string, readonly number[]> = {
  'data-plane/src/worker/http1/head-parser.ts': [88_000, 1_574_000, 524_000],
  'matching/src/route-table.ts': [0, 9_991_000, 99_781_000],
  'data-plane/src/worker/observe/traffic-counters.ts': [1, 10_000, 200_000],
  'data-plane/src/worker/observe/log-sampler.ts': [651, 20_001, 1],
}

describe.each(benchmarks)('the micro benchmark of $source', ({ source, cases }) => {
  it('comes to the same sums in every run', () => {
    const sums = () => cases.map(({ run }) => run())
    expect(sums()).toEqual(CHECKSUMS[source])
    expect(sums()).toEqual(CHECKSUMS[source])
  })
})

import { describe, expect, it } from 'vitest'
import { problemsIn } from '../artifacts/schemas.ts'
import {
  RAMP,
  STEADY,
  sampleArtifacts,
  sampleRamp,
  sampleRampRows,
  sampleSweep,
} from '../testing/sample-artifacts.ts'
import { intervalOf, isSettled } from './bootstrap.ts'
import { compareReports } from './compare.ts'
import { sustainedOf, zrkSustainedOf } from './ramps.ts'
import { summarise } from './summarise.ts'

const scenarioIn = (report: ReturnType<typeof summarise>, key: string) => {
  const found = report.scenarios.find(({ plan }) => plan.key === key)
  if (found === undefined) throw new Error(`no scenario ${key}`)
  return found
}

describe('a summary', () => {
  it('ranks by good answers and refers each round to both measurements of the reference in it', () => {
    const { cells, noiseFloor } = scenarioIn(summarise(sampleArtifacts()), 'http1k')
    expect(cells.map(({ proxy, rank }) => [proxy, rank])).toEqual([
      ['nginx', 1],
      ['haproxy', 2],
      ['self', 3],
    ])
    expect(cells.map(({ ratio }) => ratio?.median)).toEqual([1, 0.75, 0.5])
    expect(noiseFloor).toBe(0)
  })

  it('takes the most that the reference differs from itself as noise floor, and less than twice that for a tie', () => {
    const report = summarise(
      sampleArtifacts({
        plan: { proxies: ['self', 'nginx'] },
        run: (run) => {
          const rate = run.proxy === 'self' ? 33_000 : run.role === 'again' ? 29_000 : 30_000
          return run.scenario === 'http1k' && run.role !== 'direct'
            ? { rps: rate, ok: rate * 10 }
            : {}
        },
      }),
    )
    const { cells, noiseFloor } = scenarioIn(report, 'http1k')
    expect(noiseFloor).toBeCloseTo(1 / 29)
    expect(cells.find(({ proxy }) => proxy === 'self')?.isTie).toBe(false)
    const closer = summarise(
      sampleArtifacts({
        plan: { proxies: ['self', 'nginx'] },
        run: (run) => {
          const rate = run.proxy === 'self' ? 30_500 : run.role === 'again' ? 29_000 : 30_000
          return run.scenario === 'http1k' && run.role !== 'direct'
            ? { rps: rate, ok: rate * 10 }
            : {}
        },
      }),
    )
    expect(scenarioIn(closer, 'http1k').cells.find(({ proxy }) => proxy === 'self')?.isTie).toBe(
      true,
    )
  })

  it('gives a proxy that answers 503 quickly no goodput and no rank', () => {
    const report = summarise(
      sampleArtifacts({
        run: (run) =>
          run.proxy === 'haproxy' && run.scenario === 'http1k'
            ? { ok: 0, rps: 0, all_rps: 80_000, status: { '503': 800_000 }, scheduled: 800_000 }
            : {},
      }),
    )
    const cell = scenarioIn(report, 'http1k').cells.find(({ proxy }) => proxy === 'haproxy')
    expect(cell).toMatchObject({
      isRanked: false,
      rank: null,
      rps: { median: 0 },
      answers: { good: 0, class5: 4_000_000 },
    })
  })

  it('never ranks what the load generator bounds', () => {
    const report = summarise(
      sampleArtifacts({ run: (run) => (run.proxy === 'nginx' ? { bound: 'generator' } : {}) }),
    )
    const [first] = scenarioIn(report, 'http1k').cells
    expect(first).toMatchObject({ proxy: 'nginx', rank: null, isRanked: false })
    expect(report.banners.join()).toContain('bound by the load generator')
  })

  it('leaves p99 blank where fewer than 100 samples lie beyond it', () => {
    const report = summarise(
      sampleArtifacts({
        run: (run) =>
          run.lat_us === null
            ? {}
            : { lat_us: { ...run.lat_us, sched: { ...run.lat_us.sched, count: 9_000 } } },
      }),
    )
    expect(scenarioIn(report, 'steady').cells[0]?.latency?.sched.p99).toBeNull()
  })

  it('counts of each place the last attempt and keeps all of them', () => {
    const artifacts = sampleArtifacts()
    const [first, ...others] = artifacts.runs
    if (first === undefined) throw new Error('no runs')
    const disturbed = { ...first, rps: 1, ok: 10 }
    const report = summarise({
      ...artifacts,
      runs: [disturbed, { ...first, attempt: 1 }, ...others],
    })
    expect(
      scenarioIn(report, 'http1k').cells.find(({ proxy }) => proxy === first.proxy)?.rps?.min,
    ).toBeGreaterThan(1_000)
    expect([report.runs, report.repeatedRuns]).toEqual([artifacts.runs.length + 1, 1])
  })

  it('says the difference between the isolated node and the one in a fleet', () => {
    const report = summarise(
      sampleArtifacts({
        plan: { proxies: ['self', 'self-fleet', 'nginx'] },
        run: (run) =>
          run.proxy === 'self-fleet' && run.scenario === 'http1k'
            ? { rps: 13_500, ok: 135_000 }
            : {},
      }),
    )
    const row = report.comparison?.rows.find(
      ({ scenario, metric }) => scenario === 'http1k' && metric === 'requests per second',
    )
    expect(row?.change).toBeCloseTo(-0.1, 1)
    expect(row?.isTie).toBe(false)
  })

  it.each([
    ['dnz', sampleArtifacts()],
    ['ramp', sampleRamp()],
    ['sweep', sampleSweep()],
  ])(
    'of %s is what report.schema.json says, and so are the records it is made of',
    (_name, artifacts) => {
      expect(problemsIn('report', summarise(artifacts))).toEqual([])
      expect(problemsIn('plan', artifacts.plan)).toEqual([])
      expect(problemsIn('environment', artifacts.environment)).toEqual([])
      expect(problemsIn('parity', artifacts.parity)).toEqual([])
      expect(problemsIn('outcome', artifacts.outcome)).toEqual([])
      expect(artifacts.runs.flatMap((run) => problemsIn('run', run))).toEqual([])
      expect(
        artifacts.series.flatMap(({ rows }) => rows.flatMap((row) => problemsIn('row', row))),
      ).toEqual([])
    },
  )

  it('and a field that is not in the schema is a problem', () => {
    expect(problemsIn('plan', { ...sampleArtifacts().plan, rouns: 5 })).toEqual([
      'the whole must NOT have additional properties: rouns',
    ])
  })
})

describe('a ramp', () => {
  it('sustains what five seconds in a row hold, and not one lucky second', () => {
    const rows = sampleRampRows(14_000).map((row, index) =>
      index === 40 ? { ...row, ok_rate: row.offered_rate, achieved_rate: row.offered_rate } : row,
    )
    expect(sustainedOf(rows)).toBeLessThanOrEqual(14_000)
    expect(sustainedOf(rows)).toBeGreaterThan(13_000)
    expect(zrkSustainedOf(rows)).toBeGreaterThan(20_000)
  })

  it('has curves for each proxy and the origin alone, cut where the last one stops keeping up', () => {
    const [ramp] = summarise(sampleRamp()).ramps
    expect(ramp?.rps.map(({ proxy }) => proxy)).toEqual(['self', 'nginx', 'haproxy', 'direct'])
    expect(ramp?.offeredMax).toBeLessThanOrEqual(RAMP.toPerSecond ?? 0)
    const tail = ramp?.p99.find(({ proxy }) => proxy === 'self')?.points.at(-1)
    expect(tail).toBeNull()
  })
})

describe('rounds', () => {
  it('give the same interval for the same seed, within their range', () => {
    const values = [1, 1.1, 0.9, 1.05, 0.95]
    const interval = intervalOf(values, 7)
    expect(interval).toEqual(intervalOf(values, 7))
    expect(interval?.low).toBeGreaterThanOrEqual(0.9)
    expect(interval?.high).toBeLessThanOrEqual(1.1)
  })

  it('are enough once the interval is narrower than three per cent', () => {
    expect(isSettled([1, 1.001, 0.999, 1, 1], 0.03)).toBe(true)
    expect(isSettled([1, 1.2, 0.8, 1, 1.1], 0.03)).toBe(false)
  })
})

describe('two records', () => {
  it('are not compared in another layout or with another workload', () => {
    const one = sampleArtifacts()
    const other = sampleArtifacts({
      environment: { layout: '4-cpu' },
      plan: { workloadHash: 'f'.repeat(64) },
    })
    const { refusals, rows } = compareReports(one, other)
    expect(refusals).toHaveLength(2)
    expect(rows).toEqual([])
  })

  it('of the same work are compared by ratios alone', () => {
    const slower = sampleArtifacts({
      run: (run) => ({
        rps: run.rps / 2,
        ok: run.ok / 2,
        ...(run.scenario === STEADY.key ? { rps: run.rps, ok: run.ok } : {}),
      }),
    })
    const { rows } = compareReports(sampleArtifacts(), slower)
    expect(rows.filter(({ isTie }) => !isTie)).toEqual([])
  })
})

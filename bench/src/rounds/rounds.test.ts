import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it } from 'vitest'
import { runLoad } from '../load/run-load.ts'
import { allowedCpus } from '../processor.ts'
import { SUITES } from '../suites/all-suites.ts'
import { scenario } from '../suites/suite.ts'
import { sampleScenario } from '../testing/sample-artifacts.ts'
import { fitted, secondsOf } from './budget.ts'
import { figuresOf, plansOf } from './generator-load.ts'
import { boundOf } from './measured-run.ts'
import { pairedTurns, turnsOf } from './order.ts'
import { progressText } from './progress.ts'
import { workloadHash } from './workload-hash.ts'
import { readCounts } from './wrk-load.ts'

describe('the order of a round', () => {
  const names = ['self', 'nginx', 'haproxy', 'caddy']

  it.each([0, 1, 2, 3, 4])(
    '%i has every proxy once and the reference twice, never right after itself',
    (round) => {
      const turns = turnsOf(names, 'nginx', round)
      expect(
        turns
          .filter(({ role }) => role === 'measured')
          .map(({ proxy }) => proxy)
          .toSorted(),
      ).toEqual(names.toSorted())
      expect(turns.filter(({ role }) => role === 'again')).toEqual([
        { proxy: 'nginx', role: 'again' },
      ])
      const places = turns.flatMap(({ proxy }, index) => (proxy === 'nginx' ? [index] : []))
      expect(Math.abs((places[0] ?? 0) - (places[1] ?? 0))).toBeGreaterThan(1)
      expect(turns.find(({ proxy }) => proxy === 'nginx')?.role).toBe('measured')
    },
  )

  it('moves on from round to round', () => {
    const first = [0, 1, 2, 3].map((round) => turnsOf(names, 'none', round)[0]?.proxy)
    expect(first).toEqual(names)
  })

  it('of two builds is A B B A and then B A A B', () => {
    const order = (round: number) =>
      pairedTurns(['old', 'new'], round)
        .map(({ proxy }) => proxy)
        .join(' ')
    expect([order(0), order(1)]).toEqual(['old new new old', 'new old old new'])
  })
})

describe('a budget', () => {
  it.each([3, 10])(
    'makes the runs of the dnz suite with %i proxies short enough for 45 minutes',
    (proxies) => {
      const suite = SUITES.dnz
      const size = { proxies, rounds: suite.rounds, hasAgain: true }
      const { scenarios } = fitted(suite.scenarios({}), suite, size, suite.budgetSeconds)
      expect(secondsOf(scenarios, suite, size)).toBeLessThan(45 * 60)
      expect(scenarios.every(({ seconds }) => seconds >= suite.secondsRange[0])).toBe(true)
    },
  )

  it('measures every scenario with fewer rounds where the shortest runs do not fit', () => {
    const suite = SUITES.dnz
    const size = { proxies: 9, rounds: suite.rounds, hasAgain: true }
    const { scenarios, rounds, notes } = fitted(suite.scenarios({}), suite, size, 11 * 60)
    expect(rounds).toBeLessThan(suite.rounds)
    expect(secondsOf(scenarios, suite, { ...size, rounds })).toBeLessThanOrEqual(11 * 60)
    expect(secondsOf(scenarios, suite, { ...size, rounds: rounds + 1 })).toBeGreaterThan(11 * 60)
    expect(notes).toContain(`There are ${rounds} rounds instead of 5, to stay within 11 min.`)
  })

  it('says that runs are shorter than the page has them', () => {
    const suite = SUITES.dnz
    const { notes } = fitted(
      suite.scenarios({}),
      suite,
      { proxies: 10, rounds: 5, hasAgain: true },
      suite.budgetSeconds,
    )
    expect(notes).toEqual([expect.stringMatching(/^Runs last \d+ s instead of 20 s/)])
  })
})

describe('what bounds a throughput', () => {
  const plan = sampleScenario()
  it.each([
    ['proxy', { busy: 0.97, rps: 9_000, directRps: 40_000, idle: 0.3 }],
    ['generator', { busy: 0.71, rps: 36_000, directRps: 40_000, idle: 0.2 }],
    ['generator', { busy: 0.71, rps: 20_000, directRps: null, idle: 0.01 }],
    ['latency', { busy: 0.5, rps: 9_000, directRps: 40_000, idle: 0.5 }],
  ] as const)('is the %s for %j', (bound, facts) => {
    expect(boundOf(plan, facts)).toBe(bound)
  })
})

describe('the counts of wrk', () => {
  it('leave out bad statuses, and short answers as far as the bytes tell', () => {
    const output = 'COUNTS 1000 2000000 900000 100 0 1 0 2\n'
    const said = `1 (sh) S ${Array.from({ length: 20 }, (_, index) => index).join(' ')}`
    const counts = readCounts(sampleScenario(), output, said)
    expect(counts).toMatchObject({
      seconds: 2,
      ok: 878,
      badStatus: 100,
      errors: { read: 1, timeout: 2, short: 22 },
    })
  })

  it('are an error where wrk printed none', () => {
    expect(() => readCounts(sampleScenario(), 'unable to connect', '')).toThrow(
      'wrk printed no counts: unable to connect',
    )
  })
})

describe('a workload', () => {
  const suite = SUITES.dnz
  const plans = suite.scenarios({})

  it('has the same hash however long its runs are, and another one with other connections', () => {
    const hash = workloadHash(suite, plans, undefined)
    expect(workloadHash(suite, suite.scenarios({ duration: 3 }), undefined)).toBe(hash)
    expect(workloadHash(suite, suite.scenarios({ connections: 8 }), undefined)).not.toBe(hash)
  })

  it('settles the steady rate at half of what the slowest can', () => {
    const steady =
      plans.find(({ kind }) => kind === 'steady') ?? scenario({ key: 'none', title: 'none' })
    const rate = suite.settle(
      steady,
      new Map([
        ['self', 9_000],
        ['caddy', 4_210],
      ]),
      {},
    ).perSecond
    expect(rate).toBe(2_100)
    expect(suite.settle(steady, new Map([['self', 90_000]]), {}).perSecond).toBe(5_000)
    expect(
      suite.settle({ ...steady, perSecond: 50 }, new Map([['self', 90_000]]), { rate: 50 })
        .perSecond,
    ).toBe(50)
  })
})

it('a progress line has scenario, proxy, round and time left', () => {
  const text = progressText({
    scenario: 'http1k',
    proxy: 'nginx',
    round: 1,
    rounds: 5,
    secondsLeft: 131,
  })
  expect(text).toBe('http1k · nginx · round 2 of 5 · 2:11 left')
})

it('a server that answers 503 quickly has goodput 0', async () => {
  const server = createServer((_request, response) => {
    response.writeHead(503, { 'content-length': 0 }).end()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const plan = sampleScenario({
    tool: 'generator',
    kind: 'steady',
    perSecond: 200,
    seconds: 1,
    warmUpSeconds: 0,
    connections: 4,
  })
  const target = { port, tlsPort: port, host: 'localhost', authorityFile: '' }
  const [load] = plansOf(plan, { target, pace: 'tick', seed: 1, requests: undefined })
  if (load === undefined) throw new Error('no plan')
  const figures = figuresOf([await runLoad(load, { processors: allowedCpus().join(',') })])
  server.closeAllConnections()
  server.close()
  expect(figures.ok).toBe(0)
  expect(figures.status['503']).toBeGreaterThan(100)
}, 60_000)

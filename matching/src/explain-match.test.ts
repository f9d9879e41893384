import { expect, it } from 'vitest'
import { explainMatch, failedConditions, type MatchRequest } from './explain-match.ts'
import { compareConditions, type RouteEntry, RouteTable } from './route-table.ts'
import { conditionsOf } from './router-entries.ts'

const HOSTS = ['a.test', 'b.test', '*.test', '*.a.test', 'x.a.test', 'test']
const PATHS = ['/', '/api', '/api/', '/api/v2', '/api//', '/b']
const REGEXES = ['/api/.*', '/[ab]', '.*']
const METHODS = ['GET', 'POST']
const RANGES = ['127.0.0.0/8', '10.0.0.0/8', '::1/128', '127.0.0.2/32']
const REQUEST_HOSTS = [...HOSTS, '', 'y.x.a.test', '.test', 'c.test']
const REQUEST_PATHS = [
  '/',
  '/api',
  '/api/',
  '/apix',
  '/api/v2/x',
  '/api//x',
  '/a',
  '/b/c',
  '/api/v2',
]
const CLIENTS = ['127.0.0.1', '127.0.0.2', '10.1.1.1', '::1', '']

/** A small generator of numbers, the same for the same seed. */
function randomOf(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

function pick<T>(random: () => number, from: readonly T[]): T {
  return from[Math.floor(random() * from.length)] as T
}

function some<T>(random: () => number, from: readonly T[]): T[] {
  return random() < 0.5 ? [] : from.filter(() => random() < 0.3)
}

/** What some changes lead to: entries come in any order, and others come and go between them. */
function changedTable(
  random: () => number,
  entries: readonly RouteEntry<string>[],
): RouteTable<string> {
  const table = new RouteTable<string>()
  const passing = entries.map((entry) => ({ ...entry, target: 'passing' }))
  const inAnyOrder = entries
    .map((entry) => ({ entry, at: random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ entry }) => entry)
  for (const entry of passing) table.add(entry)
  for (const entry of inAnyOrder) table.add(entry)
  for (const entry of passing) table.remove(entry)
  return table
}

it.each(Array.from({ length: 50 }, (_, seed) => seed))(
  'in random set %i of routers the one that is explained is the one that is found',
  (seed) => {
    const random = randomOf(seed)
    const entries = Array.from({ length: 1 + Math.floor(random() * 12) }, (_, index) => ({
      name: `r${index}`,
      entryPoints: [],
      priority: pick(random, [0, 0, 0, 1, -1]),
      service: 's',
      nodes: {},
      drain: false,
      match: {
        hosts: some(random, HOSTS),
        pathPrefixes: some(random, PATHS),
        pathRegexes: some(random, REGEXES),
        methods: some(random, METHODS),
        clientRanges: some(random, RANGES),
      },
    }))
      .flatMap((router) =>
        conditionsOf(router, () => expect.unreachable()).map((condition) => ({
          ...condition,
          target: router.name,
        })),
      )
      .sort(compareConditions)
    const table = changedTable(random, entries)
    for (let turn = 0; turn < 200; turn += 1) {
      const request: MatchRequest = {
        host: pick(random, REQUEST_HOSTS),
        path: pick(random, REQUEST_PATHS),
        method: pick(random, ['GET', 'POST', 'PUT']),
        client: pick(random, CLIENTS),
      }
      const { host, path, method, client } = request
      const first = entries.find((entry) => failedConditions(entry, request).length === 0)
      expect([request, table.match(host, path, method, client)]).toEqual([request, first?.target])
      const explained = explainMatch(entries, request, 100)
      expect(explained.target).toBe(first?.target)
      for (const { target, failed } of explained.near) {
        const own = entries.filter((entry) => entry.target === target)
        const fewest = own.map((entry) => failedConditions(entry, request))
        expect(fewest).toContainEqual(failed === undefined ? [] : [failed])
      }
    }
  },
)

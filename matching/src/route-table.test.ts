import { describe, expect, it } from 'vitest'
import { RouteTable } from './route-table.ts'
import { conditionsOf } from './router-entries.ts'

interface Match {
  readonly hosts?: string[]
  readonly pathPrefixes?: string[]
  readonly pathRegexes?: string[]
  readonly methods?: string[]
  readonly clientRanges?: string[]
  readonly priority?: number
}

const ANY = { hosts: [], pathPrefixes: [], pathRegexes: [], methods: [], clientRanges: [] }

/** The name of the router that takes the request, whatever the order in which the routers came. */
function winner(
  routers: Record<string, Match>,
  host: string,
  path: string,
  method = 'GET',
  client = '',
) {
  const entries = Object.entries(routers).flatMap(([name, { priority = 0, ...match }]) => {
    const rest = { entryPoints: [], service: 's', nodes: {}, drain: false }
    const router = { ...rest, name, priority, match: { ...ANY, ...match } }
    const conditions = conditionsOf(router, () => expect.unreachable())
    return conditions.map((condition) => ({ ...condition, target: name }))
  })
  const [name, ...others] = [entries, entries.toReversed()].map((order) => {
    const table = new RouteTable<string>()
    for (const entry of order) table.add(entry)
    return table.match(host, path, method, client)
  })
  expect(others).toEqual([name])
  return name
}

function permutations(names: readonly string[]): string[][] {
  if (names.length <= 1) return [[...names]]
  return names.flatMap((name) =>
    permutations(names.filter((other) => other !== name)).map((rest) => [name, ...rest]),
  )
}

describe('RouteTable', () => {
  it('an exact host beats a wildcard, and that beats any', () => {
    const routers = { exact: { hosts: ['a.test'] }, wild: { hosts: ['*.test'] }, any: {} }
    expect(winner(routers, 'a.test', '/')).toBe('exact')
    expect(winner(routers, 'b.test', '/')).toBe('wild')
    expect(winner(routers, 'x.b.test', '/')).toBe('any')
    expect(winner(routers, 'test', '/')).toBe('any')
  })

  it('an exact host beats a longer path on any host', () => {
    const routers = { host: { hosts: ['a.test'] }, path: { pathPrefixes: ['/very/long/path'] } }
    expect(winner(routers, 'a.test', '/very/long/path')).toBe('host')
  })

  it('a longer prefix wins, at segment boundaries only', () => {
    const routers = {
      api: { pathPrefixes: ['/api'] },
      v2: { pathPrefixes: ['/api/v2/'] },
      all: { pathPrefixes: ['/'] },
    }
    expect(winner(routers, 'a.test', '/api/v2/x')).toBe('v2')
    expect(winner(routers, 'a.test', '/api/v2')).toBe('v2')
    expect(winner(routers, 'a.test', '/api/v22')).toBe('api')
    expect(winner(routers, 'a.test', '/apix')).toBe('all')
    expect(winner(routers, 'a.test', '/api')).toBe('api')
  })

  it('a regex must match the whole path and beats prefixes', () => {
    const routers = {
      regex: { pathRegexes: ['/item/[0-9]+'] },
      prefix: { pathPrefixes: ['/item'] },
    }
    expect(winner(routers, 'a.test', '/item/42')).toBe('regex')
    expect(winner(routers, 'a.test', '/item/42/x')).toBe('prefix')
  })

  it('priority comes before specificity, also below zero', () => {
    const routers = {
      strong: { priority: 1 },
      exact: { hosts: ['a.test'], pathPrefixes: ['/a'] },
      weak: { hosts: ['b.test'], priority: -1 },
    }
    expect(winner(routers, 'a.test', '/a')).toBe('strong')
    expect(winner({ weak: routers.weak, any: {} }, 'b.test', '/')).toBe('any')
  })

  it('methods and client ranges are conditions, and more of them win', () => {
    const routers = {
      plain: {},
      post: { methods: ['POST'] },
      inside: { methods: ['POST'], clientRanges: ['10.0.0.0/8', 'fd00::/8'] },
    }
    expect(winner(routers, 'a.test', '/', 'GET', '10.1.2.3')).toBe('plain')
    expect(winner(routers, 'a.test', '/', 'POST', '10.1.2.3')).toBe('inside')
    expect(winner(routers, 'a.test', '/', 'POST', 'fd00::1')).toBe('inside')
    expect(winner(routers, 'a.test', '/', 'POST', '11.1.2.3')).toBe('post')
  })

  it('equal routers are ordered by name', () => {
    expect(winner({ b: { hosts: ['a.test'] }, a: { hosts: ['a.test'] } }, 'a.test', '/')).toBe('a')
  })

  it('G06: the winner is the same for every order in which routers come, and depends on no length of a rule', () => {
    const many = Array.from({ length: 30 }, (_, at) => `very-long-name-${at}.a.test`)
    const routers: Record<string, Match> = {
      exact: { hosts: ['a.test'] },
      deep: { hosts: ['a.test'], pathPrefixes: ['/my/deep'] },
      long: { hosts: [...many, 'a.test'], pathPrefixes: ['/my'] },
      wild: { hosts: ['*.test'], pathPrefixes: ['/my/deep/er'] },
      any: { pathPrefixes: ['/my/deep/er'] },
      least: { priority: -2_147_483_648 },
    }
    for (const names of permutations(Object.keys(routers))) {
      const ordered = Object.fromEntries(names.map((name) => [name, routers[name] ?? {}]))
      expect(winner(ordered, 'a.test', '/my/deep/er')).toBe('deep')
      expect(winner(ordered, 'a.test', '/my/other')).toBe('long')
      expect(winner(ordered, 'a.test', '/')).toBe('exact')
      expect(winner(ordered, 'b.test', '/my/deep/er')).toBe('wild')
      expect(winner(ordered, 'a.test.evil.example', '/my/deep/er')).toBe('any')
      expect(winner(ordered, 'a.test.evil.example', '/')).toBe('least')
    }
    const most = { ...routers, most: { priority: 2_147_483_647 } }
    expect(winner(most, 'a.test', '/my/deep/er')).toBe('most')
  })

  it('nothing matches where nothing is configured', () => {
    expect(winner({ a: { hosts: ['a.test'] } }, 'b.test', '/')).toBeUndefined()
  })
})

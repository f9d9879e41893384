import { NO_ROUTER } from '@sluice/matching'
import { describe, expect, it } from 'vitest'
import { encodeEntryPoint, encodeRouter, encodeService } from '../testing/resources.ts'
import { compile } from './compile.ts'

type Match = Parameters<typeof encodeRouter>[2] & { priority?: number }

/** The name of the router that takes the request, whatever the order in which the routers came. */
function winner(
  routers: Record<string, Match>,
  host: string,
  path: string,
  method = 'GET',
  client = '',
) {
  const encoded = Object.entries(routers).map(([name, match]) =>
    encodeRouter(name, 's', match, match.priority ?? 0),
  )
  const names = [encoded, encoded.toReversed()].map((order) => {
    const result = compile([encodeEntryPoint('web'), encodeService('s', [1]), ...order])
    if (result.kind !== 'compiled') throw new Error(JSON.stringify(result.problems))
    const number = result.configuration.entryPoints[0]?.routes.match(host, path, method, client)
    return number === undefined || number === NO_ROUTER
      ? undefined
      : result.configuration.routers[number]?.name
  })
  expect(names[0]).toBe(names[1])
  return names[0]
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

  it('nothing matches where nothing is configured', () => {
    expect(winner({ a: { hosts: ['a.test'] } }, 'b.test', '/')).toBeUndefined()
  })
})

describe('compile', () => {
  it('names object, field and reason of everything that is wrong, at once', () => {
    const result = compile([
      encodeEntryPoint('web', { address: 'nonsense', trustedPeers: ['10.0.0.0/99'] }),
      encodeService('s', [1]),
      encodeRouter('r', 'gone', { pathRegexes: ['('], clientRanges: ['x'] }),
    ])
    const seen =
      result.kind === 'refused'
        ? result.problems.map(({ object, field }) => `${object?.name} ${field}`).toSorted()
        : []
    expect(seen).toEqual([
      'r match.clientRanges[0]',
      'r match.pathRegexes[0]',
      'r service',
      'web address',
      'web trustedPeers[0]',
    ])
  })

  it('refuses bytes that are no resource', () => {
    expect(compile([Buffer.from('garbage')]).kind).toBe('refused')
  })
})

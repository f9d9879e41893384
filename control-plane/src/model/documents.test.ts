import { expect, it } from 'vitest'
import { documentSchemas, readPatched, toDocument } from './documents.ts'
import type { Kind } from './kinds.ts'
import { compileStrict } from './strict-schema.ts'

function problemsOf(kind: Kind, input: unknown) {
  return compileStrict(documentSchemas[kind])(input)
}

it('fills in every default of a router, in the order of the schema', () => {
  const { spec } = toDocument('router', { service: 's', name: 'r' })
  expect(JSON.stringify(spec)).toBe(
    '{"name":"r","labels":{},"entryPoints":[],"match":{"hosts":[],"pathPrefixes":[],"pathRegexes":[],"methods":[],"clientRanges":[]},"priority":0,"service":"s","nodes":{},"drain":false}',
  )
})

it('fills in every default of a service, its servers and its time-outs', () => {
  const input = { name: 's', servers: [{ url: 'http://h:1' }], timeouts: { idleMs: 1 } }
  expect(toDocument('service', input).spec).toEqual({
    name: 's',
    labels: {},
    servers: [{ url: 'http://h:1', weight: 1, drain: false }],
    timeouts: { connectMs: 5_000, firstByteMs: 60_000, idleMs: 1, queueMs: 5_000 },
    idleConnectionsMax: 1_024,
    connectionsMax: 0,
    queueMax: 1_024,
    connectionAgeMaxMs: 3_600_000,
    passHost: true,
    proxyProtocol: 'off',
    slowStartMs: 0,
  })
})

it('lowers hosts, raises methods, and drops what is there twice', () => {
  const match = { hosts: ['A.Example', 'a.example'], methods: ['get', 'GET'] }
  const { spec } = toDocument('router', { name: 'r', service: 's', match })
  expect(spec).toMatchObject({ match: { hosts: ['a.example'], methods: ['GET'] } })
})

it('leaves what it was given as it was', () => {
  const input = Object.freeze({ name: 's', servers: Object.freeze([{ url: 'http://H:1' }]) })
  toDocument('service', input)
  expect(input).toEqual({ name: 's', servers: [{ url: 'http://H:1' }] })
})

it.each<[string, Kind, unknown, { field: string; reason: string; hint?: string }[]]>([
  [
    'a number for a text',
    'router',
    { name: 'r', service: 1 },
    [{ field: 'service', reason: 'must be a string' }],
  ],
  [
    'a text for a number',
    'router',
    { name: 'r', service: 's', priority: '1' },
    [{ field: 'priority', reason: 'must be an integer' }],
  ],
  [
    'one text for a list',
    'router',
    { name: 'r', service: 's', entryPoints: 'web' },
    [{ field: 'entryPoints', reason: 'must be an array' }],
  ],
  [
    'an unknown field inside',
    'service',
    { name: 's', servers: [{ url: 'http://h:1', x: 1 }] },
    [
      {
        field: 'servers[0].x',
        reason: 'is not a known field',
        hint: 'known are url, weight, drain',
      },
    ],
  ],
  [
    'no servers',
    'service',
    { name: 's', servers: [] },
    [{ field: 'servers', reason: 'must NOT have fewer than 1 items' }],
  ],
  [
    'a time-out of 0',
    'service',
    { name: 's', servers: [{ url: 'x' }], timeouts: { idleMs: 0 } },
    [{ field: 'timeouts.idleMs', reason: 'must be >= 1' }],
  ],
  [
    'another protocol',
    'entry-point',
    { name: 'e', address: ':1', protocol: 'tcp' },
    [{ field: 'protocol', reason: 'must be one of "http", "https"' }],
  ],
  [
    'a certificate without a source',
    'certificate',
    { name: 'c' },
    [{ field: 'source', reason: 'must be one of "uploaded", "internal"' }],
  ],
  [
    'a field of the other source',
    'certificate',
    { name: 'c', source: 'internal', hosts: ['a'], chainPem: 'x' },
    [
      {
        field: 'chainPem',
        reason: 'is not a known field',
        hint: 'known are name, labels, source, hosts',
      },
    ],
  ],
  ['a list for an object', 'settings', [], [{ field: '', reason: 'must be an object' }]],
])('refuses %s', (_what, kind, input, expected) => {
  expect(problemsOf(kind, input)).toEqual(expected)
})

it.each(['', 'A', '-a', 'a-', '.a', 'a b', 'ü', 'a/b', 'a'.repeat(64), '__proto__'])(
  'refuses the name "%s"',
  (name) => {
    const [problem] = problemsOf('router', { name, service: 's' })
    expect(problem?.field).toBe('name')
    expect(problem?.reason).toMatch(/^must be a name of 1 to 63 characters/)
  },
)

it.each(['a', 'a.b-c', '0', 'a'.repeat(63)])('takes the name "%s"', (name) => {
  expect(problemsOf('router', { name, service: 's' })).toEqual([])
})

it('tells all problems at once', () => {
  const input = { nam: 'x', match: { hosts: [1, 2] }, priority: 1.5 }
  expect(problemsOf('router', input).map(({ field }) => field)).toEqual([
    'name',
    'service',
    'nam',
    'match.hosts[0]',
    'match.hosts[1]',
    'priority',
  ])
})

it('takes a patched certificate without its key', () => {
  const patched = { name: 'c', source: 'uploaded', chainPem: 'x' }
  expect(readPatched('certificate', 'c', patched).kind).toBe('document')
  expect(problemsOf('certificate', patched)).toEqual([
    { field: 'privateKeyPem', reason: 'is required' },
  ])
})

import { expect, it } from 'vitest'
import { checkReferences, referencesTo } from './check-references.ts'
import { checkResource } from './check-resource.ts'
import { Configuration, idOf } from './configuration.ts'
import { toDocument } from './documents.ts'
import type { Kind } from './kinds.ts'
import type { Certificate, Resource } from './resources.ts'
import { certificateWarnings, findWarnings } from './warnings.ts'

const nowMs = Date.parse('2026-06-01T00:00:00Z')
const dayMs = 86_400_000

function make(kind: Exclude<Kind, 'certificate'>, spec: object): Resource {
  return toDocument(kind, spec) as Resource
}

const router = (name: string, more: object = {}) => make('router', { name, service: 's', ...more })
const service = make('service', { name: 's', servers: [{ url: 'http://h:1' }] })
const web = make('entry-point', { name: 'web', address: ':80', protocol: 'http' })
const secure = make('entry-point', { name: 'secure', address: ':443', protocol: 'https' })

function certificate(name: string, hosts: string[], validDays = 90): Resource {
  const spec: Certificate = {
    name,
    labels: {},
    hosts,
    source: 'uploaded',
    chainPem: '',
    notBefore: new Date(nowMs - dayMs).toISOString(),
    notAfter: new Date(nowMs + validDays * dayMs).toISOString(),
    fingerprint: '',
    issuer: '',
    publicKeyId: '',
  }
  return { kind: 'certificate', spec }
}

function warningsOf(...resources: Resource[]) {
  return findWarnings(Configuration.empty.with(resources), resources.map(idOf), nowMs)
}

it('finds every reference to what is not there', () => {
  const configuration = Configuration.empty.with([
    router('r', { service: 'nope', entryPoints: ['web', 'gone'] }),
    web,
    make('entry-point', { name: 'e', address: ':1', protocol: 'https', defaultCertificate: 'c' }),
  ])
  expect(checkReferences(configuration)).toEqual([
    {
      kind: 'entry-point',
      name: 'e',
      field: 'defaultCertificate',
      reason: 'refers to certificate "c", which does not exist',
      hint: 'create certificate "c" first, or in the same request',
    },
    {
      kind: 'router',
      name: 'r',
      field: 'service',
      reason: 'refers to service "nope", which does not exist',
      hint: 'create service "nope" first, or in the same request',
    },
    {
      kind: 'router',
      name: 'r',
      field: 'entryPoints[1]',
      reason: 'refers to entry point "gone", which does not exist',
      hint: 'create entry point "gone" first, or in the same request',
    },
  ])
})

it('does not add a dangling reference to what was refused for another reason', () => {
  const configuration = Configuration.empty.with([router('r')])
  expect(checkReferences(configuration, [{ kind: 'service', name: 's' }])).toEqual([])
})

it('names who refers to a resource', () => {
  const configuration = Configuration.empty.with([router('a'), router('b'), service])
  expect(
    referencesTo(configuration, [{ kind: 'service', name: 's' }]).map(({ name }) => name),
  ).toEqual(['a', 'b'])
})

it('refuses two entry points on one address', () => {
  const other = make('entry-point', { name: 'b', address: '127.0.0.1:80', protocol: 'http' })
  expect(checkReferences(Configuration.empty.with([web, other]))).toEqual([
    {
      kind: 'entry-point',
      name: 'b',
      field: 'address',
      reason: '"127.0.0.1:80" collides with that of entry point "web" (":80")',
      hint: 'give one of them another port',
    },
  ])
})

it('refuses more entry points than a node should listen on', () => {
  const many = Array.from({ length: 101 }, (_, index) =>
    make('entry-point', { name: `e${index}`, address: `:${index + 1}`, protocol: 'http' }),
  )
  const [problem] = checkReferences(Configuration.empty.with(many))
  expect(problem?.reason).toBe('would be one of 101; a configuration has at most 100')
})

it('reports every problem with a resource of its own, with the path of the field', () => {
  const match = { hosts: ['ok', 'a:1'], pathRegexes: ['('], clientRanges: ['x'], methods: ['a b'] }
  expect(checkResource(router('r', { match })).map(({ field }) => field)).toEqual([
    'match.hosts[1]',
    'match.pathRegexes[0]',
    'match.methods[0]',
    'match.clientRanges[0]',
  ])
})

it('refuses a service that could not send a request anywhere', () => {
  const servers = [
    { url: 'http://h:1', weight: 0 },
    { url: 'http://h:2', weight: 0 },
  ]
  expect(checkResource(make('service', { name: 's', servers }))).toEqual([
    {
      kind: 'service',
      name: 's',
      field: 'servers',
      reason: 'have no weight above 0, so none would get a request',
    },
  ])
})

it('refuses a default certificate on an entry point without TLS', () => {
  const spec = { name: 'e', address: ':1', protocol: 'http', defaultCertificate: 'c' }
  expect(checkResource(make('entry-point', spec))[0]?.field).toBe('defaultCertificate')
})

it('warns of a host on an https entry point that no certificate covers', () => {
  const hosts = ['a.example', 'x.b.example', 'x.y.b.example', '*.b.example', 'none.example']
  const configured = [
    certificate('c', ['a.example', '*.b.example']),
    router('r', { match: { hosts } }),
  ]
  expect(warningsOf(secure, ...configured).map(({ field }) => field)).toEqual([
    'match.hosts[2]',
    'match.hosts[4]',
  ])
  expect(warningsOf(web, ...configured)).toEqual([])
})

it('warns of two routers with one match that share an entry point', () => {
  const match = { hosts: ['a', 'b'] }
  const swapped = { hosts: ['b', 'a'] }
  const twins = [router('r1', { match }), router('r2', { match: swapped })]
  expect(warningsOf(web, ...twins).map(({ name, field }) => [name, field])).toEqual([
    ['r1', 'match'],
    ['r2', 'match'],
  ])
  const apart = [
    router('r1', { match, entryPoints: ['web'] }),
    router('r2', { match, entryPoints: ['other'] }),
    router('r3', { match, priority: 1 }),
  ]
  expect(warningsOf(web, ...apart)).toEqual([])
})

it.each([
  [-1, ['expired on 2026-05-31T00:00:00.000Z']],
  [0, ['expired on 2026-06-01T00:00:00.000Z']],
  [1, ['expires on 2026-06-02T00:00:00.000Z, in 1 day']],
  [13, ['expires on 2026-06-14T00:00:00.000Z, in 13 days']],
  [14, []],
])('warns of a certificate that has %d days left: %j', (days, expected) => {
  const resource = certificate('c', ['a'], days)
  expect(warningsOf(resource).map(({ reason }) => reason)).toEqual(expected)
})

it('warns of a certificate that is not valid yet', () => {
  const notBefore = '2027-01-01T00:00:00.000Z'
  expect(certificateWarnings({ notBefore, notAfter: '2028-01-01T00:00:00.000Z' }, nowMs)).toEqual([
    'is not valid before 2027-01-01T00:00:00.000Z',
  ])
})

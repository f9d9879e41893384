import { expect, it } from 'vitest'
import { toDocument } from '../model/documents.ts'
import type { Labels } from '../model/labels.ts'
import type { Resource } from '../model/resources.ts'
import { toCandidate } from './preparation.ts'
import { PublishedState } from './published-state.ts'
import { digestOf, hashOf } from './version-hash.ts'
import { VersionViews } from './version-views.ts'

const entryPoint = (name: string, fields: object = {}) =>
  make('entry-point', { name, address: ':1', protocol: 'https', ...fields })
const service = (name: string) => make('service', { name, servers: [{ url: 'http://a:1' }] })
const router = (name: string, fields: object = {}) =>
  make('router', { name, service: name, ...fields })
const on = (site: string) => ({ nodes: { site } })
const forHosts = (...hosts: string[]) => ({ match: { hosts } })

function make(kind: 'entry-point' | 'service' | 'router', spec: object): Resource {
  // Not a certificate, so the document is the resource.
  return toDocument(kind, spec) as Resource
}

function certificate(name: string, ...hosts: string[]): Resource {
  const spec = {
    name,
    labels: {},
    source: 'uploaded' as const,
    chainPem: 'chain',
    hosts,
    notBefore: '',
    notAfter: '',
    fingerprint: '',
    issuer: '',
    publicKeyId: '',
  }
  return { kind: 'certificate', spec }
}

function viewsOf(...resources: Resource[]): VersionViews {
  const records = resources.map((resource) => ({
    ...toCandidate(resource, () => 'key'),
    revision: 1,
    createdAtMs: 0,
    updatedAtMs: 0,
  }))
  const state = PublishedState.empty.with(records)
  return new VersionViews(state, { hash: 'whole', isEmptyOnPurpose: false })
}

function keysOf(views: VersionViews, labels: Labels): string[] {
  return [...views.viewFor(labels).entries.keys()].sort()
}

it('is the whole for every node while no router selects any', () => {
  const views = viewsOf(service('a'), router('a'), service('unused'), certificate('c', 'x.example'))
  expect(views.viewFor({ site: 'one' })).toBe(views.whole)
  expect(views.whole.hash).toBe('whole')
})

it('has the routers that select the node or all nodes, and the services that they use', () => {
  const views = viewsOf(
    ...[service('all'), router('all'), service('one'), router('one', on('1'))],
    ...[service('two'), router('two', on('2')), service('unused')],
  )
  const common = ['router all', 'service all', 'service unused']
  expect(keysOf(views, {})).toEqual(common)
  expect(keysOf(views, { site: '1' })).toEqual([...common, 'router one', 'service one'].sort())
  expect(keysOf(views, { site: '2', a: 'b' })).toEqual(
    [...common, 'router two', 'service two'].sort(),
  )
})

it('asks for every label of a selector', () => {
  const nodes = { site: '1', tier: 'edge' }
  const views = viewsOf(service('a'), router('a', { nodes }))
  expect(keysOf(views, { site: '1' })).toEqual([])
  expect(keysOf(views, { site: '1', tier: 'edge' })).toEqual(['router a', 'service a'])
})

it('has the entry points that its routers use, and those that no router uses', () => {
  const views = viewsOf(
    ...['web', 'inner', 'unused'].map((name) => entryPoint(name)),
    ...[service('a'), router('a', { entryPoints: ['web'], ...on('1') })],
    ...[service('b'), router('b', { entryPoints: ['inner'], ...on('2') })],
  )
  const entryPointsOf = (site: string) =>
    keysOf(views, { site }).filter((key) => key.startsWith('entry-point'))
  expect(entryPointsOf('1')).toEqual(['entry-point unused', 'entry-point web'])
  expect(entryPointsOf('2')).toEqual(['entry-point inner', 'entry-point unused'])
})

it('has only the certificates that its routers and entry points serve with', () => {
  const views = viewsOf(
    entryPoint('web', { defaultCertificate: 'default' }),
    entryPoint('inner', { defaultCertificate: 'inner' }),
    ...[service('a'), router('a', { entryPoints: ['web'], ...on('1'), ...forHosts('a.example') })],
    ...[
      service('b'),
      router('b', { entryPoints: ['inner'], ...on('2'), ...forHosts('*.b.example') }),
    ],
    certificate('default', 'default.test'),
    certificate('inner', 'inner.test'),
    certificate('a', 'a.example'),
    certificate('any-of-a', '*.example'),
    certificate('b', 'one.b.example'),
    certificate('any-of-b', '*.b.example'),
    certificate('early', 'not-yet.example.net'),
  )
  const certificatesOf = (site: string) =>
    keysOf(views, { site }).filter((key) => key.startsWith('certificate'))
  expect(certificatesOf('1')).toEqual(
    ['a', 'any-of-a', 'default'].map((name) => `certificate ${name}`),
  )
  expect(certificatesOf('2')).toEqual(
    ['any-of-b', 'b', 'inner'].map((name) => `certificate ${name}`),
  )
})

it('gives a router without hosts the certificates that no other router has', () => {
  const views = viewsOf(
    ...[
      service('a'),
      router('a', on('1')),
      service('b'),
      router('b', { ...on('2'), ...forHosts('b.x') }),
    ],
    ...[certificate('b', 'b.x'), certificate('free', 'free.x')],
  )
  expect(keysOf(views, { site: '1' })).toEqual(['certificate free', 'router a', 'service a'])
  expect(keysOf(views, { site: '2' })).toEqual(['certificate b', 'router b', 'service b'])
})

it('hashes what is in the view, and is one object for all nodes that fit the same selectors', () => {
  const views = viewsOf(service('a'), router('a', on('1')), service('b'), router('b', on('2')))
  const view = views.viewFor({ site: '1', name: 'x' })
  expect(views.viewFor({ name: 'y', site: '1' })).toBe(view)
  expect(view.hash).toBe(
    hashOf(Array.from(view.entries.values(), ({ encoded }) => digestOf(encoded))),
  )
  expect(views.viewFor({ site: '2' }).hash).not.toBe(view.hash)
})

it('is empty on purpose for a node that no router selects', () => {
  const views = viewsOf(service('a'), router('a', on('1')))
  expect(views.viewFor({ site: '2' })).toMatchObject({ isEmptyOnPurpose: true })
})

import { afterEach, beforeEach, expect, it } from 'vitest'
import { RunningControlPlane } from './testing/running-control-plane.ts'

let api: RunningControlPlane

beforeEach(async () => {
  api = await RunningControlPlane.start()
})

afterEach(() => api.remove())

const demo = [
  { kind: 'router', name: 'demo', service: 'demo', match: { hosts: ['demo.localhost'] } },
  { kind: 'service', name: 'demo', servers: [{ url: 'http://127.0.0.1:9090' }] },
  { kind: 'certificate', name: 'demo', source: 'internal', hosts: ['demo.localhost'] },
  {
    kind: 'entry-point',
    name: 'websecure',
    address: ':8443',
    protocol: 'https',
    defaultCertificate: 'demo',
  },
  { kind: 'entry-point', name: 'web', address: ':8080', protocol: 'http' },
  { kind: 'settings', logs: { perSecondPerNode: 20 } },
]

it('brings all resources in one version, in whatever order they refer to each other', async () => {
  const answer = await api.post('/apply', { message: 'the demo', resources: demo })
  expect([answer.status, answer.version, answer.body]).toEqual([
    200,
    '1',
    {
      version: 1,
      changes: demo.map(({ kind, name = 'settings' }) => ({ kind, name, change: 'created' })),
      warnings: [],
    },
  ])
  expect((await api.get('/versions/1')).body).toMatchObject({
    author: 'admin',
    message: 'the demo',
    counts: { entryPoints: 2, routers: 1, services: 1, certificates: 1 },
  })
})

it('tells what was created, replaced and unchanged; the internal certificate stays the same', async () => {
  await api.apply(...demo)
  const { fingerprint } = (await api.get('/certificates/demo')).body
  const answer = await api.apply(
    ...demo,
    { kind: 'service', name: 'two', servers: [{ url: 'http://h:1' }] },
    { kind: 'router', name: 'two', service: 'two' },
  )
  expect(answer.body.changes.map(({ change }: { change: string }) => change)).toEqual([
    ...demo.map(() => 'unchanged'),
    'created',
    'created',
  ])
  expect(answer.body.version).toBe(2)
  expect((await api.get('/certificates/demo')).body.fingerprint).toBe(fingerprint)
  const again = await api.apply({ ...demo[0], priority: 1 })
  expect(again.body.changes).toEqual([{ kind: 'router', name: 'demo', change: 'replaced' }])
})

it('publishes nothing when nothing changed, and before the first version answers 0', async () => {
  expect((await api.apply()).body).toEqual({ version: 0, changes: [], warnings: [] })
  await api.apply(...demo)
  expect((await api.apply(...demo)).body.version).toBe(1)
  expect((await api.get('/versions')).body.total).toBe(1)
})

it('changes nothing when anything is wrong, and tells everything that is', async () => {
  const answer = await api.apply(
    { kind: 'service', name: 'good', servers: [{ url: 'http://h:1' }] },
    { kind: 'service', name: 'bad', servers: [{ url: 'https://h:1', weight: 0 }] },
    { kind: 'router', name: 'r', service: 'none', match: { hosts: ['a:1'], pathRegexes: ['('] } },
    { kind: 'certificate', name: 'c', source: 'uploaded', chainPem: 'x', privateKeyPem: 'y' },
    {
      kind: 'entry-point',
      name: 'e',
      address: ':1',
      protocol: 'https',
      defaultCertificate: 'c',
      trustedPeers: ['10.0.0.0'],
    },
  )
  expect([answer.status, answer.body.type]).toEqual([
    422,
    'urn:sluice:problem:invalid-configuration',
  ])
  const places = answer.body.problems.map(
    ({ kind, name, field }: Record<string, string>) => `${kind} ${name} ${field}`,
  )
  expect(places.toSorted()).toEqual([
    'certificate c chainPem',
    'certificate c privateKeyPem',
    'entry-point e trustedPeers[0]',
    'router r match.hosts[0]',
    'router r match.pathRegexes[0]',
    'router r service',
    'service bad servers',
    'service bad servers[0].url',
  ])
  expect((await api.get('/services')).body.total).toBe(0)
  expect(await api.version()).toBe(0)
})

it('names resource and field of documents that are malformed', async () => {
  const answer = await api.apply(
    { kind: 'router', name: 'r', service: 's', prio: 1 },
    { kind: 'rooter', name: 'x' },
    { kind: 'service' },
    { kind: 'settings', logs: { perSecondPerNode: '1' } },
  )
  expect([answer.status, answer.body.problems]).toEqual([
    400,
    [
      {
        kind: 'router',
        name: 'r',
        field: 'prio',
        reason: 'is not a known field',
        hint: 'did you mean "priority"?',
      },
      {
        kind: '',
        name: 'x',
        field: 'resources[1].kind',
        reason: 'must be one of "entry-point", "router", "service", "certificate", "settings"',
      },
      { kind: 'service', name: '', field: 'resources[2].name', reason: 'is required' },
      { kind: 'service', name: '', field: 'resources[2].servers', reason: 'is required' },
      {
        kind: 'settings',
        name: 'settings',
        field: 'logs.perSecondPerNode',
        reason: 'must be an integer',
      },
    ],
  ])
})

it('tells with what is malformed also what the rules object to in the other documents', async () => {
  await api.apply({ kind: 'service', name: 's', servers: [{ url: 'http://h:1' }] })
  const answer = await api.apply(
    { kind: 'router', name: 'r', service: 's', prio: 1 },
    { kind: 'router', name: 'regex', service: 'gone', match: { pathRegexes: ['('] } },
    { kind: 'service', name: 'late', servers: 'none' },
    { kind: 'router', name: 'good', service: 'late' },
    { kind: 'certificate', name: 'c', source: 'uploaded', chainPem: 'x', privateKeyPem: 'y' },
    { kind: 'entry-point', name: 'e', address: ':1', protocol: 'https', defaultCertificate: 'c' },
    [1],
  )
  expect(answer.status).toBe(400)
  const places = answer.body.problems.map(
    ({ kind, name, field }: Record<string, string>) => `${kind} ${name} ${field}`,
  )
  expect(places.toSorted()).toEqual([
    '  resources[6]',
    'router r prio',
    'router regex match.pathRegexes[0]',
    'router regex service',
    'service late servers',
  ])
  expect(await api.version()).toBe(1)
})

it('refuses a name that appears twice', async () => {
  const service = { kind: 'service', name: 's', servers: [{ url: 'http://h:1' }] }
  const answer = await api.apply(service, service)
  expect([answer.status, answer.body.problems]).toEqual([
    422,
    [
      {
        kind: 'service',
        name: 's',
        field: 'name',
        reason: 'appears more than once in the request',
      },
    ],
  ])
})

it('warns about the resources it was given', async () => {
  await api.apply(...demo)
  const twin = { ...demo[0], name: 'twin', match: { hosts: ['demo.localhost'] } }
  const stranger = { ...demo[0], name: 'stranger', match: { hosts: ['else.localhost'] } }
  const answer = await api.apply(twin, stranger)
  expect(answer.body.warnings).toMatchObject([
    { kind: 'router', name: 'stranger', field: 'match.hosts[0]' },
    { kind: 'router', name: 'twin', field: 'match' },
  ])
})

it('takes 10,000 routers at once, and publishes one more among them at once', async () => {
  const routers = Array.from({ length: 10_000 }, (_, index) => ({
    kind: 'router',
    name: `r${index}`,
    service: 'demo',
    match: { hosts: [`h${index}.example.com`], pathPrefixes: ['/api'] },
  }))
  expect((await api.apply(...demo, ...routers)).body.version).toBe(1)
  const answer = await api.post('/routers', { name: 'one', service: 'demo' })
  expect([answer.status, answer.version]).toEqual([201, '2'])
  expect((await api.get('/status')).body.counts.routers).toBe(10_002)
})

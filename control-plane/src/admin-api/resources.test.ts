import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { RunningControlPlane } from './testing/running-control-plane.ts'

let api: RunningControlPlane

beforeAll(async () => {
  api = await RunningControlPlane.start()
})

afterAll(() => api.remove())

const times = { createdAt: expect.any(String), updatedAt: expect.any(String) }

const kinds = [
  {
    path: '/services',
    body: { name: 'backend', servers: [{ url: 'http://127.0.0.1:9090' }] },
    full: {
      name: 'backend',
      labels: {},
      servers: [{ url: 'http://127.0.0.1:9090', weight: 1, drain: false }],
      timeouts: { connectMs: 5_000, firstByteMs: 60_000, idleMs: 60_000, queueMs: 5_000 },
      idleConnectionsMax: 1_024,
      connectionsMax: 0,
      queueMax: 1_024,
      connectionAgeMaxMs: 3_600_000,
      passHost: true,
      proxyProtocol: 'off',
      slowStartMs: 0,
    },
    patch: { timeouts: { idleMs: 1_000 } },
    patched: { timeouts: { connectMs: 5_000, firstByteMs: 60_000, idleMs: 1_000, queueMs: 5_000 } },
  },
  {
    path: '/entry-points',
    body: { name: 'web', address: '127.0.0.1:8080', protocol: 'http' },
    full: {
      name: 'web',
      labels: {},
      address: '127.0.0.1:8080',
      protocol: 'http',
      trustedPeers: [],
      proxyProtocolPeers: [],
    },
    patch: { trustedPeers: ['10.0.0.0/8'] },
    patched: { trustedPeers: ['10.0.0.0/8'] },
  },
  {
    path: '/routers',
    body: { name: 'front', service: 'backend', match: { hosts: ['Demo.Localhost'] } },
    full: {
      name: 'front',
      labels: {},
      entryPoints: [],
      match: {
        hosts: ['demo.localhost'],
        pathPrefixes: [],
        pathRegexes: [],
        methods: [],
        clientRanges: [],
      },
      priority: 0,
      service: 'backend',
      nodes: {},
      drain: false,
    },
    patch: { match: { methods: ['get'] }, priority: -5 },
    patched: {
      priority: -5,
      match: {
        hosts: ['demo.localhost'],
        pathPrefixes: [],
        pathRegexes: [],
        methods: ['GET'],
        clientRanges: [],
      },
    },
  },
  {
    path: '/certificates',
    body: { name: 'site', source: 'internal', hosts: ['Demo.localhost'] },
    full: {
      name: 'site',
      labels: {},
      source: 'internal',
      hosts: ['demo.localhost'],
      chainPem: expect.stringMatching(/^-----BEGIN CERTIFICATE-----/),
      notBefore: expect.any(String),
      notAfter: expect.any(String),
      fingerprint: expect.stringMatching(/^[0-9a-f]{64}$/),
      issuer: 'CN=Sluice internal CA',
      warnings: [],
    },
    patch: { hosts: ['other.localhost'] },
    patched: { hosts: ['other.localhost'] },
  },
]

describe.each(kinds)('$path', ({ path, body, full, patch, patched }) => {
  const one = `${path}/${body.name}`

  it('creates with every default, 201, a location and the number of a new version', async () => {
    const before = await api.version()
    const answer = await api.post(path, body)
    expect(answer.body).toEqual({ ...full, ...times, revision: 1 })
    expect([answer.status, answer.headers.location, answer.version]).toEqual([
      201,
      `/api/v1${one}`,
      String(before + 1),
    ])
  })

  it('reads one, and lists it', async () => {
    const answer = await api.get(one)
    expect([answer.status, answer.body]).toEqual([200, { ...full, ...times, revision: 1 }])
    expect((await api.get(path)).body).toEqual({ items: [answer.body], total: 1 })
  })

  it('refuses to create it again, naming it, and publishes nothing', async () => {
    const before = await api.version()
    const answer = await api.post(path, body)
    expect([answer.status, answer.body.type]).toEqual([409, 'urn:sluice:problem:name-taken'])
    expect(answer.body.problems).toMatchObject([{ name: body.name, field: 'name' }])
    expect(await api.version()).toBe(before)
  })

  it('answers a replacement that changes nothing with the version that holds', async () => {
    const before = await api.version()
    const answer = await api.put(one, body)
    expect([answer.status, answer.version]).toEqual([200, String(before)])
    expect(answer.body.revision).toBe(1)
  })

  it('patches by RFC 7396 and counts the revision', async () => {
    const before = await api.version()
    const answer = await api.patch(one, patch)
    expect(answer.body).toMatchObject({ ...patched, revision: 2 })
    expect([answer.status, answer.version]).toEqual([200, String(before + 1)])
  })

  it('replaces the whole', async () => {
    const answer = await api.put(one, body)
    expect(answer.body).toMatchObject({ ...full, ...times, revision: 3 })
  })

  it('takes application/merge-patch+json too', async () => {
    const headers = { 'content-type': 'application/merge-patch+json' }
    const answer = await api.send('PATCH', `/api/v1${one}`, '{}', { headers })
    expect([answer.status, answer.body.revision]).toEqual([200, 3])
  })

  it.each(['PUT', 'PATCH'])('refuses another name in the body of %s', async (method) => {
    const answer = await api.send(method, `/api/v1${one}`, { ...body, name: 'other' })
    expect([answer.status, answer.body.problems]).toMatchObject([
      400,
      [{ name: body.name, field: 'name', reason: expect.stringContaining('cannot be renamed') }],
    ])
  })

  it.each(['GET', 'PUT', 'PATCH', 'DELETE'])(
    'answers %s of an unknown name with 404',
    async (method) => {
      const sent =
        method === 'PUT' ? { ...body, name: 'gone' } : method === 'PATCH' ? {} : undefined
      const answer = await api.send(method, `/api/v1${path}/gone`, sent)
      expect([answer.status, answer.contentType]).toEqual([
        404,
        'application/problem+json; charset=utf-8',
      ])
      expect(answer.body.detail).toMatch(/^there is no .* "gone"$/)
    },
  )

  it('refuses an unknown field with its path', async () => {
    const answer = await api.put(one, { ...body, colour: 'red' })
    expect([answer.status, answer.body.problems]).toMatchObject([
      400,
      [{ name: body.name, field: 'colour', reason: 'is not a known field' }],
    ])
  })
})

describe('deleting', () => {
  it('refuses what is still used, and names who uses it', async () => {
    const answer = await api.delete('/services/backend')
    expect([answer.status, answer.body]).toMatchObject([
      409,
      {
        type: 'urn:sluice:problem:still-referenced',
        detail: 'service "backend" is still used by router "front"',
        problems: [{ kind: 'router', name: 'front', field: 'service' }],
      },
    ])
  })

  it('deletes what is free, with the number of the version', async () => {
    for (const { path, body } of kinds.toReversed()) {
      const before = await api.version()
      const answer = await api.delete(`${path}/${body.name}`)
      expect([answer.status, answer.text, answer.version]).toEqual([204, '', String(before + 1)])
      expect((await api.get(path)).body).toEqual({ items: [], total: 0 })
    }
  })
})

it('lists in pages, by name', async () => {
  const servers = [{ url: 'http://h:1' }]
  const names = ['c', 'a', 'e', 'b', 'd']
  await api.apply(...names.map((name) => ({ kind: 'service', name, servers })))
  const page = await api.get('/services?limit=2&offset=1')
  expect(page.body.items.map(({ name }: { name: string }) => name)).toEqual(['b', 'c'])
  expect(page.body.total).toBe(5)
  expect((await api.get('/services?limit=0')).status).toBe(400)
  expect((await api.get('/services?limit=1001')).status).toBe(400)
  expect((await api.get('/services?offset=-1')).status).toBe(400)
  expect((await api.get('/services?colour=red')).body.problems).toMatchObject([{ field: 'colour' }])
})

describe('settings', () => {
  it('are the defaults before anyone wrote them', async () => {
    const fresh = await RunningControlPlane.start()
    expect((await fresh.get('/settings')).body).toEqual({
      labels: {},
      logs: { perSecondPerNode: 10 },
      versions: { countMax: 1_000, daysMax: 365 },
      createdAt: null,
      updatedAt: null,
      revision: 0,
    })
    await fresh.remove()
  })

  it('are replaced as a whole, and published', async () => {
    const before = await api.version()
    const answer = await api.put('/settings', { logs: { perSecondPerNode: 0 } })
    expect([answer.status, answer.version]).toEqual([200, String(before + 1)])
    expect((await api.get('/settings')).body.logs).toEqual({ perSecondPerNode: 0 })
    expect((await api.put('/settings', {})).body.logs).toEqual({ perSecondPerNode: 10 })
  })

  it('are bounded', async () => {
    const answer = await api.put('/settings', { logs: { perSecondPerNode: 1_001 } })
    expect(answer.body.problems).toEqual([
      {
        kind: 'settings',
        name: 'settings',
        field: 'logs.perSecondPerNode',
        reason: 'must be <= 1000',
      },
    ])
  })
})

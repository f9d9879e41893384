import { afterAll, beforeAll, expect, it } from 'vitest'
import { RunningControlPlane } from './testing/running-control-plane.ts'

let api: RunningControlPlane

beforeAll(async () => {
  api = await RunningControlPlane.start()
})

afterAll(() => api.remove())

it('makes join tokens with defaults, shows them once, lists and removes them', async () => {
  const created = await api.post('/join-tokens', {})
  const { token, ...shown } = created.body
  expect(created.status).toBe(201)
  expect(created.headers['cache-control']).toBe('no-store')
  expect(token).toMatch(/^sluice-join\.[\w-]{43}\.[\w-]{43}$/)
  expect(shown).toMatchObject({ labels: {}, uses: 1, usesLeft: 1 })
  expect(Date.parse(shown.expiresAt) - Date.parse(shown.createdAt)).toBe(3_600_000)
  expect((await api.get('/join-tokens')).body).toEqual({ items: [shown], total: 1 })
  expect((await api.delete(`/join-tokens/${shown.id}`)).status).toBe(204)
  expect((await api.delete(`/join-tokens/${shown.id}`)).status).toBe(404)
  expect((await api.get('/join-tokens')).body).toEqual({ items: [], total: 0 })
})

it('makes join tokens as asked', async () => {
  const asked = { labels: { zone: 'a' }, expiresInSeconds: 60, uses: 3 }
  const { body } = await api.post('/join-tokens', asked)
  expect(body).toMatchObject({ labels: { zone: 'a' }, uses: 3, usesLeft: 3 })
  expect(Date.parse(body.expiresAt) - Date.parse(body.createdAt)).toBe(60_000)
})

it.each([
  [{ uses: 0 }, 'uses'],
  [{ uses: 1_000_000 }, 'uses'],
  [{ expiresInSeconds: 1.5 }, 'expiresInSeconds'],
  [{ labels: { zone: 1 } }, 'labels.zone'],
  [{ labels: { 'a b': 'c' } }, 'labels'],
  [{ colour: 'red' }, 'colour'],
])('refuses the join token %j', async (asked, field) => {
  const answer = await api.post('/join-tokens', asked)
  expect([answer.status, answer.body.problems]).toMatchObject([400, [{ field }]])
})

it('lists no nodes before one enrolled, and knows none', async () => {
  expect((await api.get('/nodes')).body).toEqual({ items: [], total: 0 })
  expect((await api.get('/nodes/edge')).body.detail).toBe('there is no node "edge"')
  expect((await api.post('/nodes/edge/revoke')).status).toBe(404)
})

it('answers traffic over the last hour as one step by default', async () => {
  const { status, body } = await api.get('/analytics/traffic?by=router')
  expect([status, body.by, body.series]).toEqual([200, 'router', []])
  expect(body.stepMs).toBe(Date.parse(body.to) - Date.parse(body.from))
  expect(body.stepMs).toBeGreaterThanOrEqual(3_600_000)
})

it.each([
  ['2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z'],
  ['2026-01-01', '2026-01-02'],
  ['2026-01-01T01:00:00+01:00', '2026-01-02T01:00:00%2B01:00'],
  [String(Date.UTC(2026, 0, 1)), String(Date.UTC(2026, 0, 2))],
])('takes the range %s to %s', async (from, to) => {
  const { body } = await api.get(`/analytics/traffic?by=node&from=${from}&to=${to}&step=1h`)
  expect(body).toEqual({
    by: 'node',
    from: '2026-01-01T00:00:00.000Z',
    to: '2026-01-02T00:00:00.000Z',
    stepMs: 3_600_000,
    series: [],
  })
})

it('answers analytics by every dimension and filter', async () => {
  const filters =
    'node=n&router=r&service=s&service=t&status=none&method=read&protocol=http/1.1&outcome=shed'
  const range = 'from=2026-01-01&to=2026-01-02&percentiles=0.5,0.99'
  const { body } = await api.get(`/analytics?by=node&by=outcome&step=auto&${range}&${filters}`)
  expect(body).toEqual({
    from: '2026-01-01T00:00:00.000Z',
    to: '2026-01-02T00:00:00.000Z',
    stepMs: 300_000,
    resolutionMs: 60_000,
    by: ['node', 'outcome'],
    series: [],
  })
})

it('lists logs with every filter', async () => {
  const query = 'limit=1000&node=n&router=r&service=s&status=200&from=2026-01-01&to=2026-01-02'
  expect((await api.get(`/logs?${query}`)).body).toEqual({ items: [], next: null })
})

it('tells the whole at a glance', async () => {
  await api.post('/services', { name: 's', servers: [{ url: 'http://h:1' }] })
  const { body } = await api.get('/status')
  expect(body).toEqual({
    version: 1,
    hash: expect.stringMatching(/^[0-9a-f]{64}$/),
    publishedAt: expect.any(String),
    nodes: { total: 0, connected: 0, inSync: 0, rejected: 0, lost: 0, revoked: 0 },
    counts: { entryPoints: 0, routers: 0, services: 1, certificates: 0 },
    startedAt: expect.any(String),
    softwareVersion: '0.0.0',
  })
})

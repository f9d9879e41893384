import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { makeChain } from '../certificates/testing/make-certificate.ts'
import { RunningControlPlane } from './testing/running-control-plane.ts'

let api: RunningControlPlane

beforeAll(async () => {
  api = await RunningControlPlane.start()
})

afterAll(() => api.remove())

const service = (name: string, more: object = {}) => ({
  name,
  servers: [{ url: 'http://h:1' }],
  ...more,
})

const send = (method: string, path: string, body: unknown, headers: Record<string, string>) =>
  api.send(method, `/api/v1${path}`, body, { headers })

describe('an entity tag', () => {
  it('is in the answer of every read and write, and changes with the resource', async () => {
    const created = await api.post('/services', service('a'))
    const read = await api.get('/services/a')
    expect(read.headers.etag).toBe(created.headers.etag)
    const replaced = await api.put('/services/a', service('a', { queueMax: 1 }))
    const patched = await api.patch('/services/a', { queueMax: 2 })
    const tags = [created, replaced, patched].map(({ headers }) => headers.etag)
    expect(new Set(tags).size).toBe(3)
    expect(tags.every((tag) => /^"[\w-]{22}"$/.test(String(tag)))).toBe(true)
  })

  it('lets the first of two writers through and answers the second with what there is now', async () => {
    await api.post('/services', service('race'))
    const etag = String((await api.get('/services/race')).headers.etag)
    const write = (queueMax: number) =>
      send('PUT', '/services/race', service('race', { queueMax }), { 'if-match': etag })
    const [first, second] = await Promise.all([write(1), write(2)])
    expect([first.status, second.status]).toEqual([200, 412])
    expect(second.body).toMatchObject({
      type: 'urn:sluice:problem:precondition-failed',
      status: 412,
      current: { name: 'race', queueMax: 1, revision: 2 },
    })
    expect(second.headers.etag).toBe(first.headers.etag)
    const again = service('race', { queueMax: 2 })
    const third = await send('PUT', '/services/race', again, {
      'if-match': String(second.headers.etag),
    })
    expect(third.status).toBe(200)
  })

  it.each([
    ['PATCH', { queueMax: 3 }],
    ['DELETE', undefined],
  ])('guards %s too, also against what is gone', async (method, body) => {
    const stale = await send(method, '/services/race', body, { 'if-match': '"stale"' })
    expect([stale.status, stale.body.current.name]).toEqual([412, 'race'])
    const gone = await send(method, '/services/gone', body, { 'if-match': '*' })
    expect([gone.status, gone.body.current]).toEqual([412, null])
  })

  it('is that of the defaults for settings that nobody wrote', async () => {
    const { headers } = await api.get('/settings')
    const written = await send('PUT', '/settings', {}, { 'if-match': String(headers.etag) })
    expect(written.status).toBe(200)
  })
})

it('PUT with If-None-Match creates what is not there and nothing else', async () => {
  const absent = { 'if-none-match': '*' }
  expect((await send('PUT', '/services/new', service('new'), absent)).status).toBe(201)
  const again = await send('PUT', '/services/new', service('new'), absent)
  expect([again.status, again.body.current.name]).toEqual([412, 'new'])
})

it('what GET answers of any kind is taken back by PUT and changes nothing', async () => {
  const { chainPem, privateKeyPem } = await makeChain(['a.example'])
  await api.apply(
    { kind: 'entry-point', name: 'web', address: ':80', protocol: 'http' },
    { kind: 'service', ...service('back') },
    { kind: 'router', name: 'r', service: 'back', labels: { team: 'a' } },
    { kind: 'certificate', name: 'up', source: 'uploaded', chainPem, privateKeyPem },
    { kind: 'certificate', name: 'own', source: 'internal', hosts: ['b.example'] },
  )
  const before = await api.version()
  const paths = ['/entry-points/web', '/services/back', '/routers/r', '/certificates/up']
  for (const path of [...paths, '/certificates/own', '/settings']) {
    const shown = (await api.get(path)).body
    const answer = await api.put(path, shown)
    expect([path, answer.status, answer.body]).toEqual([path, 200, shown])
  }
  expect(await api.version()).toBe(before)
})

it('the message of a write is taken from the query, else from the head', async () => {
  const messageOf = async (path: string, headers: Record<string, string>) => {
    await send('PATCH', path, { queueMax: Math.floor(await api.version()) }, headers)
    return (await api.get('/versions?limit=1')).body.items[0].message
  }
  const header = { 'sluice-message': 'from the head' }
  expect(await messageOf('/services/back', header)).toBe('from the head')
  expect(await messageOf('/services/back?message=s%C3%A9', header)).toBe('sé')
})

describe('an idempotency key', () => {
  it('makes a create once, and gives its answer again, after a restart too', async () => {
    const key = { 'idempotency-key': 'once' }
    const first = await send('POST', '/services', service('once'), key)
    const before = await api.version()
    await api.delete('/services/once')
    await api.stop()
    await api.startAgain()
    const again = await send('POST', '/services', service('once'), key)
    expect([again.status, again.text, again.headers.location, again.headers.etag]).toEqual([
      201,
      first.text,
      first.headers.location,
      first.headers.etag,
    ])
    expect(again.headers['idempotency-replayed']).toBe('true')
    expect(await api.version()).toBe(before + 1)
  })

  it.each([
    ['/join-tokens', { labels: { site: 'berlin' } }, 'token'],
    ['/node-bundles', { name: 'edge' }, 'joinToken'],
  ])('makes one token of a POST %s, whose answer is stored sealed', async (path, body, field) => {
    const key = { 'idempotency-key': `token of ${path}` }
    const count = async () => (await api.get('/join-tokens')).body.total
    const before = await count()
    const first = await send('POST', path, body, key)
    const again = await send('POST', path, body, key)
    expect([first.status, again.status, again.text]).toEqual([201, 201, first.text])
    expect(again.headers['idempotency-replayed']).toBe('true')
    expect(again.headers['cache-control']).toBe('no-store')
    expect(await count()).toBe(before + 1)
    expect((await send('POST', path, { ...body, expiresInSeconds: 60 }, key)).status).toBe(422)
    await api.stop()
    const database = await readFile(join(api.dataDir, 'sluice.db'))
    const [, secret] = first.body[field].split('.')
    expect(database.includes(secret)).toBe(false)
    await api.startAgain()
    expect((await send('POST', path, body, key)).text).toBe(first.text)
  })

  it('refuses another request under it', async () => {
    const key = { 'idempotency-key': 'other' }
    expect((await send('POST', '/services', service('k1'), key)).status).toBe(201)
    const other = await send('POST', '/services', service('k2'), key)
    expect([other.status, other.body.type]).toEqual([
      422,
      'urn:sluice:problem:idempotency-mismatch',
    ])
    expect((await api.get('/services/k2')).status).toBe(404)
  })

  it('makes one of two requests at once', async () => {
    const key = { 'idempotency-key': 'both' }
    const create = () => send('POST', '/services', service('both'), key)
    const before = await api.version()
    const answers = await Promise.all([create(), create(), create()])
    // One that comes while another is being answered is told so.
    for (const { status } of answers) expect([201, 409]).toContain(status)
    expect((await create()).status).toBe(201)
    expect(await api.version()).toBe(before + 1)
  })

  it('does not remember a refusal, and is forgotten after a day', async () => {
    const key = { 'idempotency-key': 'day' }
    expect((await send('POST', '/routers', { name: 'day', service: 'no' }, key)).status).toBe(422)
    expect((await send('POST', '/services', service('day'), key)).status).toBe(201)
    api.clockOffsetMs = 86_400_001
    expect((await send('POST', '/services', service('day'), key)).status).toBe(409)
    api.clockOffsetMs = 0
  })
})

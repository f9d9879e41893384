import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { makeChain } from '../certificates/testing/make-certificate.ts'
import { openDatabase } from '../store/database.ts'
import { listPrivateKeys } from '../store/private-keys.ts'
import { RunningControlPlane } from './testing/running-control-plane.ts'

let api: RunningControlPlane

beforeEach(async () => {
  api = await RunningControlPlane.start()
  await api.apply({ kind: 'service', ...service('a') }, { kind: 'router', name: 'r', service: 'a' })
})

afterEach(() => api.remove())

function service(name: string, more: object = {}) {
  return { name, servers: [{ url: 'http://h:1' }], ...more }
}

it('gathers writes of every kind, publishes nothing, and then all in one version', async () => {
  await api.put('/services/a?draft=d', service('a', { queueMax: 1 }))
  const created = await api.post('/services?draft=d', service('b'))
  expect([created.status, created.version, created.headers['sluice-draft']]).toEqual([
    201,
    undefined,
    'd',
  ])
  await api.patch('/routers/r?draft=d', { service: 'b' })
  await api.post('/apply?draft=d', { resources: [{ kind: 'settings', labels: { x: 'y' } }] })
  expect(await api.version()).toBe(1)
  expect((await api.get('/services/b')).status).toBe(404)
  expect((await api.get('/services/b?draft=d')).body.name).toBe('b')
  expect((await api.get('/services?draft=d')).body.total).toBe(2)
  const { body: shown } = await api.get('/drafts/d')
  expect(shown.changes).toMatchObject([
    { kind: 'router', name: 'r', fields: [{ field: 'service', before: 'a', after: 'b' }] },
    { kind: 'service', name: 'a', change: 'changed', fields: [{ field: 'queueMax', after: 1 }] },
    { kind: 'service', name: 'b', change: 'added' },
    { kind: 'settings', fields: [{ field: 'labels.x', after: 'y' }] },
  ])
  expect((await api.get('/drafts')).body).toMatchObject({
    items: [{ name: 'd', author: 'admin', baseVersion: 1, resources: 4 }],
    total: 1,
  })
  const published = await api.post('/drafts/d/publish?message=all')
  expect([published.status, published.body.version]).toEqual([200, 2])
  expect((await api.get('/versions/2')).body).toMatchObject({ message: 'all', changesTotal: 4 })
  expect((await api.get('/drafts/d')).status).toBe(404)
})

it('may hold what does not fit together, tells all of it, and publishes none of it', async () => {
  await api.post('/routers?draft=d', { name: 'x', service: 'aa', entryPoints: ['web'] })
  await api.delete('/services/a?draft=d')
  const { body } = await api.post('/drafts/d/validate')
  expect(body.isPublishable).toBe(false)
  expect(body.problems).toMatchObject([
    { kind: 'router', name: 'r', field: 'service' },
    { kind: 'router', name: 'x', field: 'service' },
    { kind: 'router', name: 'x', field: 'entryPoints[0]', hint: expect.any(String) },
  ])
  const refused = await api.post('/drafts/d/publish')
  expect([refused.status, refused.body.problems]).toEqual([422, body.problems])
  expect(await api.version()).toBe(1)
  expect((await api.delete('/drafts/d')).status).toBe(204)
  expect((await api.get('/drafts')).body.total).toBe(0)
})

it('takes over what was published meanwhile, by resource and by field', async () => {
  await api.patch('/services/a?draft=d', { queueMax: 1 })
  await api.patch('/services/a', { passHost: false })
  await api.post('/services', service('c'))
  await api.post('/drafts/d/publish')
  expect((await api.get('/services/a')).body).toMatchObject({ queueMax: 1, passHost: false })
  expect((await api.get('/services/c')).status).toBe(200)
})

it('conflicts over a field that both changed, until the draft says anew what it wants', async () => {
  await api.patch('/services/a?draft=d', { queueMax: 1, passHost: false })
  await api.patch('/services/a', { queueMax: 2 })
  const refused = await api.post('/drafts/d/publish')
  expect([refused.status, refused.body.type]).toEqual([409, 'urn:sluice:problem:conflict'])
  expect(refused.body.problems).toMatchObject([{ kind: 'service', name: 'a', field: 'queueMax' }])
  expect((await api.get('/drafts/d')).body.conflicts).toEqual(refused.body.problems)
  await api.patch('/services/a?draft=d', { queueMax: 3 })
  expect((await api.post('/drafts/d/publish')).status).toBe(200)
  expect((await api.get('/services/a')).body).toMatchObject({ queueMax: 3, passHost: false })
})

it('conflicts over a resource that one side removed and the other changed', async () => {
  await api.post('/services', service('b'))
  await api.patch('/services/b?draft=d', { queueMax: 1 })
  await api.delete('/services/b')
  const refused = await api.post('/drafts/d/publish')
  expect(refused.body.problems).toMatchObject([{ kind: 'service', name: 'b', field: '' }])
})

it('keeps an uploaded key sealed, over a restart, and publishes with it', async () => {
  const { chainPem, privateKeyPem } = await makeChain(['a.example'])
  const document = { name: 'up', source: 'uploaded', chainPem, privateKeyPem }
  await api.post('/certificates?draft=d', document)
  await api.stop()
  await api.startAgain()
  expect((await api.post('/drafts/d/publish')).status).toBe(200)
  expect((await api.get('/certificates/up')).body.hosts).toEqual(['a.example'])
  expect(api.answers).not.toContain('PRIVATE KEY')
})

it('refuses a write that its own state does not meet', async () => {
  const { headers } = await api.get('/services/a')
  const guarded = { headers: { 'if-match': String(headers.etag) } }
  const write = (queueMax: number) =>
    api.send('PATCH', '/api/v1/services/a?draft=d', { queueMax }, guarded)
  expect((await write(1)).status).toBe(200)
  expect((await write(2)).status).toBe(412)
  expect((await api.get('/services/a?draft=none')).status).toBe(404)
  expect((await api.get('/services/a?draft=No')).status).toBe(400)
})

it('leaves no private key behind when it is discarded, or published with another one, and keeps those in use', async () => {
  const chain = async (host: string) => {
    const { chainPem, privateKeyPem } = await makeChain([host])
    return { source: 'uploaded', chainPem, privateKeyPem }
  }
  const keysStored = async () => {
    await api.stop()
    const db = await openDatabase(join(api.dataDir, 'sluice.db'))
    const keys = await listPrivateKeys(db)
    await db.destroy()
    await api.startAgain()
    return keys.length
  }
  const published = await chain('a.test')
  await api.post('/certificates', { name: 'kept', ...published })
  const discarded = await chain('b.test')
  await api.post('/certificates?draft=d', { name: 'new', ...discarded })
  await api.post('/certificates?draft=d', { name: 'same', ...published })
  expect(await keysStored()).toBe(2)
  await api.delete('/drafts/d')
  const { chainPem } = discarded
  const keyless = await api.post('/certificates', { name: 'x', source: 'uploaded', chainPem })
  expect(keyless.status).toBe(422)
  expect(await keysStored()).toBe(1)

  await api.put('/certificates/kept?draft=e', { name: 'kept', ...(await chain('a.test')) })
  await api.put('/certificates/kept?draft=e', { name: 'kept', ...(await chain('a.test')) })
  expect(await keysStored()).toBe(3)
  expect((await api.post('/drafts/e/publish')).status).toBe(200)
  // The first version still has the first one.
  expect(await keysStored()).toBe(2)
  expect((await api.post('/versions/2/rollback')).status).toBe(200)
})

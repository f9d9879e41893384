import { afterEach, beforeEach, expect, it } from 'vitest'
import { VersionRetention } from '../publishing/version-retention.ts'
import { openDatabase } from '../store/database.ts'
import { RunningControlPlane } from './testing/running-control-plane.ts'

let api: RunningControlPlane

beforeEach(async () => {
  api = await RunningControlPlane.start()
})

afterEach(() => api.remove())

const service = (name: string, queueMax: number) => ({
  kind: 'service',
  name,
  servers: [{ url: 'http://h:1' }, { url: 'http://h:2' }],
  queueMax,
})
const router = { kind: 'router', name: 'r', service: 'a' }

it('tells what differs between any two versions, by resource and field, both ways', async () => {
  await api.apply(service('a', 1), router)
  await api.apply(service('b', 1))
  await api.patch('/services/a', { servers: [{ url: 'http://h:1' }, { url: 'http://h:3' }] })
  await api.delete('/routers/r')
  const { body } = await api.get('/versions/1/diff/4')
  expect(body).toMatchObject({ from: { number: 1 }, to: { number: 4 }, total: 3 })
  expect(body.items).toMatchObject([
    { kind: 'router', name: 'r', change: 'removed' },
    {
      kind: 'service',
      name: 'a',
      change: 'changed',
      fields: [{ field: 'servers[1].url', before: 'http://h:2', after: 'http://h:3' }],
    },
    { kind: 'service', name: 'b', change: 'added' },
  ])
  const back = (await api.get('/versions/4/diff/1')).body.items
  expect(back.map(({ change }: { change: string }) => change)).toEqual([
    'added',
    'changed',
    'removed',
  ])
  expect((await api.get('/versions/3/diff/3')).body.items).toEqual([])
  expect((await api.get('/versions/3/diff/9')).status).toBe(404)
  expect((await api.get('/versions/3')).body).toMatchObject({ previous: 2, changesTotal: 1 })
})

it('rolls back to any version as a new one with the same hash', async () => {
  await api.apply(service('a', 1), router)
  await api.apply(
    { kind: 'certificate', name: 'c', source: 'internal', hosts: ['c.test'], labels: { a: 'b' } },
    { ...service('b', 1), labels: { team: 'x' } },
    { ...router, service: 'b' },
  )
  await api.delete('/routers/r')
  await api.delete('/services/a')
  await api.delete('/certificates/c')
  const before = (await api.get('/versions/2')).body
  const answer = await api.post('/versions/2/rollback')
  expect([answer.status, answer.body.version]).toEqual([200, 6])
  const after = (await api.get('/versions/6')).body
  expect([after.hash, after.resources, after.message]).toEqual([
    before.hash,
    before.resources,
    'roll back to version 2',
  ])
  expect((await api.post('/versions/6/rollback')).body).toMatchObject({ version: 6, changes: [] })
  expect((await api.post('/versions/9/rollback')).status).toBe(404)
})

it('deletes in one version what refers to each other, when a label is no longer given', async () => {
  const team = { labels: { team: 'a' } }
  await api.apply({ ...service('a', 1), ...team }, { ...router, ...team }, service('other', 1))
  const body = { resources: [{ ...service('b', 1), ...team }], prune: { selector: { team: 'a' } } }
  const plan = await api.post('/plan', body)
  expect(plan.body).toMatchObject({
    baseVersion: 1,
    changes: [
      { kind: 'service', name: 'b', change: 'created' },
      { kind: 'service', name: 'a', change: 'removed' },
      { kind: 'router', name: 'r', change: 'removed' },
    ],
  })
  expect(await api.version()).toBe(1)
  expect((await api.post('/apply', body)).body.version).toBe(2)
  const left = (await api.get('/services')).body.items
  expect(left.map(({ name }: { name: string }) => name)).toEqual(['b', 'other'])
})

it('the hash does not depend on the order of resources', async () => {
  await api.apply(service('a', 1), service('b', 1), router)
  const other = await RunningControlPlane.start()
  await other.apply(router, service('b', 1), service('a', 1))
  const hash = (await api.get('/versions/1')).body.hash
  expect((await other.get('/versions/1')).body.hash).toBe(hash)
  await other.remove()
})

it('removes versions by count, but neither the newest 50 nor one that a node runs', async () => {
  for (let at = 1; at <= 60; at += 1) await api.apply(service('a', at))
  await api.apply(service('b', 1), { kind: 'settings', versions: { countMax: 55 } })
  await api.stop()
  const db = await openDatabase(`${api.dataDir}/sluice.db`)
  const nowMs = Date.now()
  await db
    .insertInto('node')
    .values({
      id: 'n',
      name: 'n',
      labels: '{}',
      enrolled_at_ms: nowMs,
      fingerprint: 'f',
      certificate_expires_at_ms: nowMs,
      version: 3,
    })
    .execute()
  const bounds = () => ({ countMax: 55, daysMax: 1 })
  const retain = (now: number) => new VersionRetention({ db, bounds, now: () => now }).run()
  expect(await retain(nowMs)).toBe(5)
  expect(await retain(nowMs + 2 * 86_400_000)).toBe(5)
  await db.destroy()
  await api.startAgain()
  const numbers = (await api.get('/versions')).body.items.map(
    (one: { number: number }) => one.number,
  )
  expect(numbers).toEqual([...Array.from({ length: 50 }, (_, at) => 61 - at), 3])
  expect((await api.get('/versions/3')).body.resources).toMatchObject([
    { name: 'a', queueMax: 3 },
    { kind: 'settings' },
  ])
  expect((await api.get('/versions/12')).body).toMatchObject({ previous: 3, changesTotal: 1 })
  expect((await api.get('/versions/3/diff/61')).body.total).toBe(3)
  expect((await api.post('/versions/3/rollback')).body.version).toBe(62)
})

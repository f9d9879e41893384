import { afterEach, beforeEach, expect, it } from 'vitest'
import { RunningControlPlane } from './testing/running-control-plane.ts'

let api: RunningControlPlane

beforeEach(async () => {
  api = await RunningControlPlane.start()
})

afterEach(() => api.remove())

const service = (name: string, port: number) => ({
  name,
  servers: [{ url: `http://h:${port}`, weight: 1 }],
})

it('numbers every accepted write, newest first, with author, message, time, hash and counts', async () => {
  await api.post('/services', service('a', 1))
  await api.put('/services/a', service('a', 2))
  await api.delete('/services/a')
  const { body } = await api.get('/versions')
  const shown = body.items.map((item: { number: number; message: string; counts: object }) => [
    item.number,
    item.message,
    item.counts,
  ])
  const counts = { entryPoints: 0, routers: 0, services: 1, certificates: 0 }
  expect(shown).toEqual([
    [3, 'delete service "a"', { ...counts, services: 0 }],
    [2, 'replace service "a"', counts],
    [1, 'create service "a"', counts],
  ])
  expect(new Set(body.items.map(({ hash }: { hash: string }) => hash)).size).toBe(3)
  expect(body.items[0]).toMatchObject({ author: 'admin', createdAt: expect.any(String) })
  const page = await api.get('/versions?limit=1&offset=1')
  expect([page.body.items[0].number, page.body.total]).toEqual([2, 3])
})

it('keeps what each version held, whatever came after', async () => {
  await api.post('/services', service('a', 1))
  await api.apply({ kind: 'service', ...service('a', 2) }, { kind: 'service', ...service('b', 1) })
  await api.delete('/services/a')
  const urls = async (number: number) => {
    const { body } = await api.get(`/versions/${number}`)
    return body.resources
      .filter(({ kind }: { kind: string }) => kind === 'service')
      .map((found: ReturnType<typeof service>) => `${found.name} ${found.servers[0]?.url}`)
  }
  expect(await urls(1)).toEqual(['a http://h:1'])
  expect(await urls(2)).toEqual(['a http://h:2', 'b http://h:1'])
  expect(await urls(3)).toEqual(['b http://h:1'])
  expect((await api.get('/versions/4')).status).toBe(404)
})

it('comes back to a state by the same hash, under a new number', async () => {
  await api.post('/services', service('a', 1))
  const first = (await api.get('/versions/1')).body
  await api.put('/services/a', service('a', 2))
  await api.put('/services/a', service('a', 1))
  expect((await api.get('/status')).body).toMatchObject({ version: 3, hash: first.hash })
})

it('goes on after a restart with the same version, hash, resources and token', async () => {
  await api.apply(
    { kind: 'service', ...service('a', 1) },
    { kind: 'router', name: 'r', service: 'a' },
    { kind: 'certificate', name: 'c', source: 'internal', hosts: ['a.localhost'] },
    { kind: 'entry-point', name: 'e', address: ':1', protocol: 'https', defaultCertificate: 'c' },
  )
  const paths = [
    '/versions/1',
    '/routers',
    '/services',
    '/certificates',
    '/entry-points',
    '/settings',
  ]
  const read = () => Promise.all(paths.map(async (path) => (await api.get(path)).body))
  const { token } = api
  const before = await read()
  await api.stop()
  await api.startAgain()
  expect(api.token).toBe(token)
  expect(await read()).toEqual(before)
  expect((await api.get('/status')).body).toMatchObject({ version: 1, hash: before[0].hash })
  expect((await api.delete('/routers/r')).version).toBe('2')
})

it('gives concurrent writes a version each', async () => {
  const names = Array.from({ length: 20 }, (_, index) => `s${index}`)
  const answers = await Promise.all(names.map((name) => api.post('/services', service(name, 1))))
  const numbers = answers.map(({ version }) => Number(version)).toSorted((a, b) => a - b)
  expect(numbers).toEqual(names.map((_, index) => index + 1))
})

it('lets one of two concurrent creates of a name through', async () => {
  const answers = await Promise.all([1, 2].map((port) => api.post('/services', service('s', port))))
  expect(answers.map(({ status }) => status).toSorted()).toEqual([201, 409])
})

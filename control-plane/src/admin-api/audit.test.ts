/** What the audit log has after requests, and that it holds nothing secret. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { peopleLimits } from '../people/limits.ts'
import { type ApiAnswer, RunningControlPlane } from './testing/running-control-plane.ts'

interface Row {
  readonly number: number
  readonly who: string
  readonly via: string
  readonly address: string
  readonly action: string
  readonly object: string
  readonly result: string
  readonly changes: readonly object[]
}

let running: RunningControlPlane
const password = 'correct horse battery'
const service = { name: 's', servers: [{ url: 'http://h:1' }] }

beforeAll(async () => {
  running = await RunningControlPlane.start()
  await running.post('/users', { name: 'ada', role: 'editor', password })
})

afterAll(() => running.remove())

it('a publish has one row, with who, how, from where, before and after', async () => {
  const { send } = await signIn('ada')
  await send('POST', '/services', service)
  const before = await newest()
  const { version } = await send('PATCH', '/services/s', { queueMax: 7 })
  expect(await rowsAfter(before)).toMatchObject([
    {
      who: 'ada',
      via: 'session',
      address: '127.0.0.1',
      action: 'publish',
      object: `version ${version}`,
      changes: [
        {
          kind: 'service',
          name: 's',
          change: 'changed',
          fields: [{ field: 'queueMax', before: 1_024, after: 7 }],
        },
      ],
      result: 'done',
    },
  ])
})

it('every way to a version has its row, and what changes nothing has none', async () => {
  const resources = [{ kind: 'service', ...service, queueMax: 8 }]
  const versions: (string | undefined)[] = []
  const before = await newest()
  versions.push((await running.post('/apply', { resources })).version)
  await running.post('/apply', { resources })
  versions.push((await running.post('/versions/1/rollback')).version)
  await running.post('/apply?draft=d', { resources })
  versions.push((await running.post('/drafts/d/publish')).version)
  versions.push((await running.put('/settings', { logs: { perSecondPerNode: 4 } })).version)
  const rows = await rowsAfter(before)
  expect(rows.filter(({ action }) => action === 'publish').map(({ object }) => object)).toEqual(
    versions.map((version) => `version ${version}`),
  )
  expect(rows.filter(({ action }) => action !== 'publish')).toMatchObject([
    { action: 'POST /apply', object: 'draft d', changes: [{ kind: 'service', name: 's' }] },
  ])
})

it('a large publish is cut to a bound, and says how much is left out', async () => {
  const names = Array.from({ length: 130 }, (_, at) => `many-${at}`)
  const before = await newest()
  await running.apply(...names.map((name) => ({ kind: 'service', ...service, name })))
  const [row] = await rowsAfter(before)
  expect(row?.changes).toHaveLength(101)
  expect(row?.changes.at(-1)).toMatchObject({ name: '30 more', change: 'omitted' })
})

it('users, tokens and sign-ins have rows, refused ones too, and no secret is in them', async () => {
  const before = await newest()
  await running.post('/users', { name: 'eve', role: 'viewer', password })
  await running.patch('/users/eve', { role: 'editor' })
  const token = (await running.post('/api-tokens', { name: 't', role: 'viewer' })).body.token
  await running.send('POST', '/api/v1/services', service, { token })
  await running.delete('/api-tokens/t')
  const join = (await running.post('/join-tokens', { labels: { a: 'b' } })).body
  await signIn('eve', 'a wrong password')
  await signIn('my password is here', 'x')
  const { send } = await signIn('eve')
  await send('GET', '/users')
  await send('DELETE', '/session')
  await running.delete('/users/eve')
  const rows = await rowsAfter(before)
  const shown = rows.map(({ who, action, object, result }) => [who, action, object, result])
  expect(shown).toEqual([
    ['admin', 'POST /users', 'eve', 'done'],
    ['admin', 'PATCH /users/:name', 'eve', 'done'],
    ['admin', 'POST /api-tokens', 't', 'done'],
    ['token:t', 'POST /services', '', 'refused'],
    ['admin', 'DELETE /api-tokens/:name', 't', 'done'],
    ['admin', 'POST /join-tokens', join.id, 'done'],
    ['eve', 'sign-in', '', 'refused'],
    ['', 'sign-in', '', 'refused'],
    ['eve', 'sign-in', '', 'done'],
    ['eve', 'GET /users', '', 'refused'],
    ['eve', 'DELETE /session', '', 'done'],
    ['admin', 'DELETE /users/:name', 'eve', 'done'],
  ])
  expect(rows[1]?.changes).toEqual([
    {
      kind: 'user',
      name: 'eve',
      change: 'changed',
      fields: [{ field: 'role', before: 'viewer', after: 'editor' }],
    },
  ])
  const text = JSON.stringify(rows)
  for (const secret of [password, token, join.token, 'my password is here', running.token]) {
    expect(text).not.toContain(secret)
  }
})

it('reads, plans and malformed writes leave no row', async () => {
  const before = await newest()
  await running.get('/services')
  await running.post('/plan', { resources: [] })
  await running.post('/services', { name: '-' })
  await running.delete('/services/none')
  expect(await rowsAfter(before)).toEqual([])
})

it('strangers cannot fill it', async () => {
  const before = await newest()
  const attempts = peopleLimits.refusalsBurst + 100
  for (let count = 0; count < attempts; count += 1) {
    await running.send('GET', '/api/v1/status', undefined, { token: 'wrong' })
  }
  const rows = await rowsAfter(before)
  expect(rows[0]).toMatchObject({ who: '', via: 'nothing', result: 'refused' })
  expect(rows.length).toBeGreaterThan(50)
  expect(rows.length).toBeLessThan(attempts - 50)
})

it('is searched by who, action, object, result and time, in pages, and exported in order', async () => {
  const { items, next } = (await running.get('/audit?who=ada&action=publish&limit=1')).body
  expect(items).toMatchObject([{ who: 'ada', action: 'publish' }])
  const more = (await running.get(`/audit?who=ada&action=publish&limit=1&before=${next}`)).body
  expect(more.items[0].number).toBeLessThan(items[0].number)
  expect((await running.get('/audit?object=eve&result=refused')).body.items).toEqual([])
  expect((await running.get('/audit?from=2999-01-01')).body.items).toEqual([])
  const exported = await running.get('/audit/export')
  expect(exported.contentType).toBe('application/x-ndjson')
  const lines = exported.text.trim().split('\n')
  const numbers = lines.map((line) => JSON.parse(line).number)
  expect(numbers).toEqual(Array.from({ length: numbers.length }, (_, at) => at + 1))
})

it('goes on after a restart, and stays verifiable', async () => {
  const before = (await running.get('/audit/verify')).body
  await running.stop()
  await running.startAgain()
  await running.post('/join-tokens', {})
  const after = (await running.get('/audit/verify')).body
  expect(after).toMatchObject({ isIntact: true, rows: before.rows + 1, problem: null })
  expect(
    (await running.get(`/audit?before=${before.end.number + 1}&limit=1`)).body.items,
  ).toMatchObject([before.end])
})

async function newest(): Promise<number> {
  return (await running.get('/audit?limit=1')).body.items[0]?.number ?? 0
}

/** Oldest first. */
async function rowsAfter(number: number): Promise<Row[]> {
  const items: Row[] = (await running.get('/audit?limit=1000')).body.items
  return items.filter((row) => row.number > number).toReversed()
}

async function signIn(name: string, secret = password) {
  const { headers, body } = await running.send(
    'POST',
    '/api/v1/session',
    { name, password: secret },
    { token: null },
  )
  const cookie = String(headers['set-cookie']).split(';')[0] ?? ''
  const shown = { cookie, 'x-sluice-csrf': String(body.csrfToken) }
  const send = (method: string, path: string, sent?: unknown): Promise<ApiAnswer> =>
    running.send(method, `/api/v1${path}`, sent, { token: null, headers: shown })
  return { send }
}

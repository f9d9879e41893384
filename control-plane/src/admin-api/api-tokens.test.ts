/** API tokens: what their scopes let through, and what is kept of them. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { peopleLimits } from '../people/limits.ts'
import { RunningControlPlane } from './testing/running-control-plane.ts'

let running: RunningControlPlane
let made = 0

beforeAll(async () => {
  running = await RunningControlPlane.start()
})

afterAll(() => running.remove())

const service = (name: string, labels: Record<string, string> = {}, port = 1) => ({
  name,
  labels,
  servers: [{ url: `http://h:${port}` }],
})

it('a token is shown once, and only its hash is kept', async () => {
  const { token, name } = await make({ role: 'viewer' })
  const files = ['sluice.db', 'sluice.db-wal'].map((file) => join(running.dataDir, file))
  const stored = await Promise.all(files.map((file) => readFile(file, 'latin1')))
  expect(stored.join('')).toContain(name)
  expect(stored.join('') + running.log).not.toContain(token)
  expect((await running.get('/api-tokens')).text).not.toContain(token)
})

it('a revoked token opens nothing, nor does one that has expired', async () => {
  const revoked = await make({ role: 'viewer' })
  const expiring = await make({ role: 'viewer', expiresInSeconds: 60 })
  expect((await by(revoked.token, 'GET', '/status')).status).toBe(200)
  expect((await running.delete(`/api-tokens/${revoked.name}`)).status).toBe(204)
  expect((await by(revoked.token, 'GET', '/status')).status).toBe(401)
  expect((await by(expiring.token, 'GET', '/status')).status).toBe(200)
  running.clockOffsetMs = 60_000
  const late = await by(expiring.token, 'GET', '/status')
  running.clockOffsetMs = 0
  expect(late.status).toBe(401)
})

it('the last use is known to the minute, over a restart too', async () => {
  const { token, name } = await make({ role: 'viewer' })
  expect(await usedAt(name)).toBeNull()
  await by(token, 'GET', '/status')
  const first = await usedAt(name)
  await by(token, 'GET', '/status')
  expect(await usedAt(name)).toBe(first)
  running.clockOffsetMs = peopleLimits.usedSavedMs
  await by(token, 'GET', '/status')
  running.clockOffsetMs = 0
  const second = await usedAt(name)
  expect(Date.parse(String(second)) - Date.parse(String(first))).toBeGreaterThanOrEqual(60_000)
  await running.stop()
  await running.startAgain()
  expect(await usedAt(name)).toBe(second)
})

it('a token is the author of what it publishes', async () => {
  const { token, name } = await make({ role: 'editor' })
  const { version } = await by(token, 'POST', '/services', service('authored'))
  expect((await running.get(`/versions/${version}`)).body.author).toBe(`token:${name}`)
})

it('a scope with labels lets write what carries them before and after, by every way', async () => {
  await running.apply({ kind: 'service', ...service('theirs', { team: 'b' }) })
  await running.apply({ kind: 'service', ...service('ours', { team: 'a' }) })
  const { token } = await make({
    role: 'editor',
    scopes: [{ kinds: ['service'], access: 'write', selector: { team: 'a' } }],
  })
  const before = await running.version()
  const theirs = { kind: 'service', ...service('theirs', { team: 'a' }) }
  const stolen = { kind: 'service', ...service('ours', { team: 'b' }) }
  const attempts = [
    await by(token, 'PUT', '/services/theirs', service('theirs', { team: 'a' })),
    await by(token, 'PATCH', '/services/theirs', { queueMax: 9 }),
    await by(token, 'DELETE', '/services/theirs'),
    await by(token, 'POST', '/services', service('bare')),
    await by(token, 'PUT', '/services/ours', service('ours', { team: 'b' })),
    await by(token, 'POST', '/apply', { resources: [theirs] }),
    await by(token, 'POST', '/apply?draft=d', { resources: [stolen] }),
    await by(token, 'POST', '/apply', { resources: [], prune: { selector: { team: 'b' } } }),
    await by(token, 'POST', '/versions/1/rollback'),
    await by(token, 'POST', '/routers', { name: 'r', labels: { team: 'a' }, service: 'ours' }),
  ]
  expect(attempts.map(({ status }) => status)).toEqual(attempts.map(() => 403))
  expect(attempts[0]?.body.problems).toMatchObject([{ kind: 'service', name: 'theirs' }])
  expect(await running.version()).toBe(before)
  const allowed = [
    await by(token, 'PUT', '/services/ours', service('ours', { team: 'a' }, 2)),
    await by(token, 'POST', '/services', service('new', { team: 'a', tier: 'x' })),
    await by(token, 'POST', '/apply', {
      // What does not change is not written.
      resources: [{ kind: 'service', ...service('theirs', { team: 'b' }) }],
    }),
    await by(token, 'DELETE', '/services/new'),
  ]
  expect(allowed.map(({ status }) => status)).toEqual([200, 201, 200, 204])
})

it('a draft with changes of others is not published by a scope that does not cover them', async () => {
  const { token } = await make({
    role: 'editor',
    scopes: [{ kinds: [], access: 'write', selector: { team: 'a' } }],
  })
  await running.post('/apply?draft=mixed', {
    resources: [{ kind: 'service', ...service('mixed', { team: 'b' }) }],
  })
  await by(token, 'POST', '/services?draft=mixed', service('own', { team: 'a' }))
  expect((await by(token, 'POST', '/drafts/mixed/publish')).status).toBe(403)
  expect((await by(token, 'DELETE', '/drafts/mixed')).status).toBe(403)
  expect((await running.post('/drafts/mixed/publish')).status).toBe(200)
})

it('a plan shows a token no resource that it may not read', async () => {
  await running.apply({ kind: 'service', ...service('planned') })
  const { token } = await make({
    role: 'editor',
    scopes: [{ kinds: ['router'], access: 'write', selector: {} }],
  })
  const plan = (resource: object) => by(token, 'POST', '/plan', { resources: [resource] })
  expect((await plan({ kind: 'router', name: 'r', service: 'planned' })).status).toBe(200)
  expect((await plan({ kind: 'service', ...service('planned', {}, 7) })).status).toBe(403)
})

it('a token with scopes makes neither users nor tokens, which might do more', async () => {
  const { token } = await make({
    role: 'admin',
    scopes: [{ kinds: [], access: 'write', selector: {} }],
  })
  expect((await by(token, 'GET', '/api-tokens')).status).toBe(200)
  const refused = await by(token, 'POST', '/api-tokens', { name: 'more', role: 'admin' })
  expect(refused.status).toBe(403)
})

it.each([
  ['a role that is none', { role: 'root' }, 'role'],
  [
    'a kind that is none',
    { scopes: [{ kinds: ['gadget'], access: 'read', selector: {} }] },
    'scopes[0].kinds[0]',
  ],
  [
    'a label that is none',
    { scopes: [{ kinds: [], access: 'read', selector: { '-': 'x' } }] },
    'scopes[0].selector',
  ],
  ['no scope at all', { scopes: [] }, 'scopes'],
  ['an end in the past', { expiresInSeconds: 0 }, 'expiresInSeconds'],
])('%s is refused, and the field is named', async (_what, wrong, field) => {
  const before = (await running.get('/api-tokens')).body.total
  const refused = await running.post('/api-tokens', { name: 'x', role: 'viewer', ...wrong })
  expect([refused.status, refused.body.problems?.[0]?.field]).toEqual([400, field])
  expect((await running.get('/api-tokens')).body.total).toBe(before)
})

async function make(request: object): Promise<{ token: string; name: string }> {
  made += 1
  const { status, body } = await running.post('/api-tokens', { name: `t${made}`, ...request })
  expect(status).toBe(201)
  return body
}

function by(token: string, method: string, path: string, body?: unknown) {
  return running.send(method, `/api/v1${path}`, body, { token })
}

async function usedAt(name: string): Promise<string | null> {
  const { items } = (await running.get('/api-tokens')).body
  return items.find((item: { name: string }) => item.name === name).usedAt
}

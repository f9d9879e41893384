/** Users, what their roles let them do, and their sessions, over HTTP. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import Fastify from 'fastify'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { peopleLimits } from '../people/limits.ts'
import { installAccessRules } from './access.ts'
import { type ApiAnswer, RunningControlPlane } from './testing/running-control-plane.ts'

let running: RunningControlPlane
const password = 'correct horse battery'

beforeAll(async () => {
  running = await RunningControlPlane.start()
  for (const role of ['admin', 'editor', 'viewer']) {
    expect((await running.post('/users', { name: role[0] + role, role, password })).status).toBe(
      201,
    )
  }
})

afterAll(() => running.remove())

const service = { name: 's', servers: [{ url: 'http://h:1' }] }

it('the log says how the first user is added, and no password is in it or in the database', async () => {
  expect(running.log).toContain('sluice user add NAME --role admin')
  const files = ['sluice.db', 'sluice.db-wal'].map((name) => join(running.dataDir, name))
  const stored = await Promise.all(files.map((file) => readFile(file, 'latin1')))
  expect(stored.join('')).toContain('eeditor')
  expect(running.log + running.answers + stored.join('')).not.toContain(password)
})

it('a user signs in with name and password, and is the author of what they publish', async () => {
  const editor = await signIn('eeditor')
  expect(editor.answer.body).toMatchObject({ name: 'eeditor', role: 'editor' })
  const created = await editor.send('POST', '/services', service)
  expect(created.status).toBe(201)
  const { body } = await running.get(`/versions/${created.version}`)
  expect(body.author).toBe('eeditor')
})

it('a viewer reads and writes nothing', async () => {
  const viewer = await signIn('vviewer')
  expect((await viewer.send('GET', '/services')).status).toBe(200)
  expect((await viewer.send('GET', '/users')).status).toBe(403)
  const refused = await viewer.send('POST', '/services', { ...service, name: 't' })
  expect(refused.status).toBe(403)
  expect(refused.body.detail).toBe('this needs the role editor; vviewer has viewer')
})

it('an editor changes settings by no way at all', async () => {
  const editor = await signIn('eeditor')
  const settings = { kind: 'settings', logs: { perSecondPerNode: 3 } }
  const before = await running.version()
  const yaml = { 'content-type': 'application/yaml' }
  const text = 'kind: settings\nlogs: {perSecondPerNode: 3}\n'
  const answers = [
    await editor.send('PUT', '/settings', { logs: { perSecondPerNode: 3 } }),
    await editor.send('POST', '/apply', { resources: [settings] }),
    await editor.send('POST', '/apply?draft=d', { resources: [settings] }),
    await editor.send('POST', '/import', text, yaml),
  ]
  expect(answers.map(({ status }) => status)).toEqual([403, 403, 403, 403])
  expect(answers[1]?.body.problems).toMatchObject([{ kind: 'settings', name: 'settings' }])
  await running.post('/apply?draft=settings', { resources: [settings] })
  expect((await editor.send('POST', '/drafts/settings/publish')).status).toBe(403)
  expect(await running.version()).toBe(before)
  await running.delete('/drafts/settings')
})

it('an export with private keys is for admins', async () => {
  const sealed = { 'sluice-passphrase': 'long enough' }
  const editor = await signIn('eeditor')
  expect((await editor.send('GET', '/export')).status).toBe(200)
  expect((await editor.send('GET', '/export', undefined, sealed)).status).toBe(403)
  const admin = await signIn('aadmin')
  expect((await admin.send('GET', '/export', undefined, sealed)).status).toBe(200)
})

it('a role that was taken away holds for open sessions at once', async () => {
  await running.post('/users', { name: 'fallen', role: 'admin', password })
  const fallen = await signIn('fallen')
  expect((await fallen.send('GET', '/users')).status).toBe(200)
  await running.patch('/users/fallen', { role: 'viewer' })
  expect((await fallen.send('GET', '/users')).status).toBe(403)
})

it('being disabled or removed ends the sessions, and nobody signs in by that name', async () => {
  await running.post('/users', { name: 'gone', role: 'editor', password })
  const first = await signIn('gone')
  expect((await running.patch('/users/gone', { isDisabled: true })).body.isDisabled).toBe(true)
  expect((await first.send('GET', '/status')).status).toBe(401)
  expect((await signIn('gone')).answer.status).toBe(401)
  await running.patch('/users/gone', { isDisabled: false })
  expect((await first.send('GET', '/status')).status).toBe(401)
  const second = await signIn('gone')
  expect((await running.delete('/users/gone')).status).toBe(204)
  expect((await second.send('GET', '/status')).status).toBe(401)
  expect((await running.delete('/users/gone')).status).toBe(404)
})

it('a changed password ends all sessions but the one that changed it', async () => {
  await running.post('/users', { name: 'careful', role: 'viewer', password })
  const [kept, other] = [await signIn('careful'), await signIn('careful')]
  const next = 'another long password'
  const wrong = await kept.send('POST', '/session/password', { current: 'wrong', next })
  expect([wrong.status, wrong.body.problems]).toEqual([
    400,
    [{ kind: '', name: 'careful', field: 'password', reason: 'is wrong' }],
  ])
  expect((await kept.send('POST', '/session/password', { current: password, next })).status).toBe(
    204,
  )
  expect((await kept.send('GET', '/status')).status).toBe(200)
  expect((await other.send('GET', '/status')).status).toBe(401)
  expect((await signIn('careful')).answer.status).toBe(401)
  expect((await signIn('careful', next)).answer.status).toBe(200)
})

it('sessions are listed and ended: their own by everybody, all by admins', async () => {
  const [viewer, editor] = [await signIn('vviewer'), await signIn('eeditor')]
  const own = (await viewer.send('GET', '/sessions')).body.items
  expect(new Set(own.map(({ user }: { user: string }) => user))).toEqual(new Set(['vviewer']))
  const all: { id: string; user: string }[] = (await running.get('/sessions')).body.items
  expect(new Set(all.map(({ user }) => user))).toContain('eeditor')
  const ofEditor = all.find(({ user }) => user === 'eeditor')?.id
  expect((await viewer.send('DELETE', `/sessions/${ofEditor}`)).status).toBe(404)
  expect((await running.delete(`/sessions/${ofEditor}`)).status).toBe(204)
  expect((await editor.send('GET', '/status')).status).toBe(401)
})

it('an unknown user takes as much work as a wrong password, and gets the same answer', async () => {
  const seen: { ms: number; status: number; text: string }[] = []
  for (const name of ['aadmin', 'nobody-at-all', 'aadmin', 'nobody-at-all']) {
    const before = process.cpuUsage()
    const { answer } = await signIn(name, 'a wrong password')
    const { user, system } = process.cpuUsage(before)
    seen.push({ ms: (user + system) / 1_000, status: answer.status, text: answer.text })
  }
  expect(new Set(seen.map(({ status, text }) => `${status} ${text}`)).size).toBe(1)
  const work = (of: number[]) => Math.min(...of.map((at) => seen[at]?.ms ?? 0))
  const [known, unknown] = [work([0, 2]), work([1, 3])]
  // A hash takes some 200 ms of a processor; everything else of a request, a few.
  expect(known).toBeGreaterThan(50)
  expect(Math.abs(known - unknown)).toBeLessThan(known / 2)
})

it('who is wrong too often waits, at sign-in and at a change of the password, and longer each time', async () => {
  await running.post('/users', { name: 'hasty', role: 'viewer', password })
  const hasty = await signIn('hasty')
  for (let count = 0; count < peopleLimits.userFailuresFree; count += 1) {
    expect((await signIn('hasty', 'wrong')).answer.status).toBe(401)
  }
  const { answer } = await signIn('hasty')
  expect([answer.status, answer.headers['retry-after']]).toEqual([429, '1'])
  const change = { current: password, next: 'another long password' }
  expect((await hasty.send('POST', '/session/password', change)).status).toBe(429)
  expect((await hasty.send('GET', '/status')).status).toBe(200)
  running.clockOffsetMs += 1_000
  expect((await signIn('hasty', 'wrong')).answer.status).toBe(401)
  expect((await signIn('hasty')).answer.headers['retry-after']).toBe('2')
  running.clockOffsetMs += 2_000
  const right = await signIn('hasty')
  running.clockOffsetMs = 0
  expect(right.answer.status).toBe(200)
})

it('a session ends when it is not used, and after a week however much it is used', async () => {
  const idle = await signIn('vviewer')
  running.clockOffsetMs = peopleLimits.sessionIdleMs
  expect((await idle.send('GET', '/status')).status).toBe(401)
  const busy = await signIn('vviewer')
  const step = peopleLimits.sessionIdleMs - 60_000
  const begin = running.clockOffsetMs
  const seen = []
  for (let age = step; age < peopleLimits.sessionAgeMs + step; age += step) {
    running.clockOffsetMs = begin + age
    seen.push([age < peopleLimits.sessionAgeMs, (await busy.send('GET', '/status')).status])
  }
  running.clockOffsetMs = 0
  expect(seen.filter(([isYoung, status]) => (status === 200) !== isYoung)).toEqual([])
})

it.each([
  ['a short password', { name: 'x', role: 'viewer', password: 'short' }, 400, 'password'],
  [
    'the name as password',
    { name: 'long-enough-name', role: 'viewer', password: 'Long-Enough-Name' },
    400,
    'password',
  ],
  ['a role that is none', { name: 'x', role: 'root', password }, 400, 'role'],
  ['a name with a space', { name: 'a b', role: 'viewer', password }, 400, 'name'],
  ['a name that is taken', { name: 'vviewer', role: 'viewer', password }, 409, 'name'],
  ['the name of the admin token', { name: 'admin', role: 'viewer', password }, 409, 'name'],
])('%s is refused, and the field is named', async (_what, body, status, field) => {
  const before = (await running.get('/users')).body
  const refused = await running.post('/users', body)
  expect([refused.status, refused.body.problems?.[0]?.field]).toEqual([status, field])
  expect((await running.get('/users')).body).toEqual(before)
})

it.each([{}, { name: 'vviewer' }, { name: 'vviewer', password, token: 'x' }])(
  'signing in with %j is malformed',
  async (body) => {
    const answer = await running.send('POST', '/api/v1/session', body, { token: null })
    expect(answer.status).toBe(400)
  },
)

it('users and their sessions outlive a restart', async () => {
  const viewer = await signIn('vviewer')
  await running.stop()
  await running.startAgain()
  expect((await viewer.send('GET', '/status')).status).toBe(200)
  expect((await signIn('vviewer')).answer.status).toBe(200)
})

it('a route without an access rule cannot be registered', () => {
  const app = Fastify()
  installAccessRules(app)
  expect(() => app.get('/api/v1/forgotten', () => '')).toThrow(
    'no access rule for GET /api/v1/forgotten',
  )
})

async function signIn(name: string, secret = password) {
  const answer = await running.send(
    'POST',
    '/api/v1/session',
    { name, password: secret },
    { token: null },
  )
  const cookie = String(answer.headers['set-cookie']).split(';')[0] ?? ''
  const send = (
    method: string,
    path: string,
    body?: unknown,
    more: Record<string, string> = {},
  ): Promise<ApiAnswer> => {
    const headers = { cookie, 'x-sluice-csrf': String(answer.body.csrfToken), ...more }
    return running.send(method, `/api/v1${path}`, body, { token: null, headers })
  }
  return { answer, send }
}

/** Sign-in and events of the dashboard, over HTTP. */
import { request } from 'undici'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { peopleLimits } from '../people/limits.ts'
import { apiLimits } from './limits.ts'
import { RunningControlPlane } from './testing/running-control-plane.ts'

let running: RunningControlPlane

beforeAll(async () => {
  running = await RunningControlPlane.start()
})

afterAll(() => running.remove())

const entryPoint = (name: string, port: number) => ({
  name,
  address: `127.0.0.1:${port}`,
  protocol: 'http',
})

it('a wrong token opens no session', async () => {
  const answer = await signIn('wrong')
  expect(answer.status).toBe(401)
  expect(answer.headers['set-cookie']).toBeUndefined()
})

it('the cookie of a session is out of the reach of scripts and of other sites', async () => {
  const answer = await signIn()
  expect(answer.status).toBe(200)
  expect(answer.headers['set-cookie']).toMatch(
    /^sluice_session=[A-Za-z0-9_-]{43}; Path=\/api\/; Expires=[^;]+; HttpOnly; SameSite=Lax$/,
  )
  expect(answer.headers['set-cookie']).not.toContain(running.token)
})

it('behind TLS the cookie is for TLS alone', async () => {
  const answer = await signIn(running.token, { 'x-forwarded-proto': 'https' })
  expect(answer.headers['set-cookie']).toContain('; Secure')
})

it('a session reads with its cookie, and writes only with its own token as well', async () => {
  const first = await openSession()
  const second = await openSession()
  expect((await send('GET', '/status', first)).status).toBe(200)
  const document = entryPoint('guarded', 4001)
  expect((await send('POST', '/entry-points', first, document)).status).toBe(403)
  const foreign = await send('POST', '/entry-points', first, document, second['x-sluice-csrf'])
  expect(foreign.status).toBe(403)
  expect(
    (await send('POST', '/entry-points', first, document, first['x-sluice-csrf'])).status,
  ).toBe(201)
})

it('a session that was closed, or is too old, counts for nothing', async () => {
  const closed = await openSession()
  expect(
    (await send('DELETE', '/session', closed, undefined, closed['x-sluice-csrf'])).status,
  ).toBe(204)
  expect((await send('GET', '/status', closed)).status).toBe(401)
  const old = await openSession()
  running.clockOffsetMs = peopleLimits.sessionAgeMs
  const answer = await send('GET', '/status', old)
  running.clockOffsetMs = 0
  expect(answer.status).toBe(401)
})

it('a session outlives a restart', async () => {
  const session = await openSession()
  await running.stop()
  await running.startAgain()
  expect((await send('GET', '/status', session)).status).toBe(200)
})

it('a published version is told to those who listen, and only so many may', async () => {
  const { cookie } = await openSession()
  const listen = () => request(`${running.origin}/api/v1/events`, { headers: { cookie } })
  const readers = []
  for (let count = 0; count < apiLimits.eventReadersMax; count += 1) readers.push(await listen())
  const refused = await listen()
  await refused.body.dump()
  expect(refused.statusCode).toBe(429)
  const [reader, ...others] = readers
  for (const other of others) other.body.on('error', () => {}).destroy()
  await running.post('/entry-points', entryPoint('told', 4002))
  let text = ''
  for await (const chunk of reader?.body ?? []) {
    text += chunk
    if (text.includes('event: version')) break
  }
  expect(text).toContain(`"number":${await running.version()}`)
})

function signIn(token = running.token, headers: Record<string, string> = {}) {
  return running.send('POST', '/api/v1/session', { token }, { token: null, headers })
}

async function openSession() {
  const answer = await signIn()
  const cookie = String(answer.headers['set-cookie']).split(';')[0] ?? ''
  return { cookie, 'x-sluice-csrf': String(answer.body.csrfToken) }
}

function send(
  method: string,
  path: string,
  { cookie }: { readonly cookie: string },
  body?: unknown,
  csrfToken?: string,
) {
  const headers = { cookie, ...(csrfToken !== undefined && { 'x-sluice-csrf': csrfToken }) }
  return running.send(method, `/api/v1${path}`, body, { token: null, headers })
}

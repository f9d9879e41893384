/** Signing in with codes of an authenticator, and with recovery codes. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Secret, TOTP } from 'otpauth'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { RunningControlPlane } from './testing/running-control-plane.ts'

let running: RunningControlPlane
const password = 'correct horse battery'

beforeAll(async () => {
  running = await RunningControlPlane.start()
})

afterAll(() => running.remove())

it('gives the codes of RFC 6238, which authenticators give too', () => {
  const secret = Secret.fromLatin1('12345678901234567890')
  const codes = [59, 1_111_111_109, 20_000_000_000].map((seconds) =>
    new TOTP({ secret, digits: 8 }).generate({ timestamp: seconds * 1_000 }),
  )
  expect(codes).toEqual(['94287082', '07081804', '65353130'])
})

it('signing in takes a code, once, and says that it does', async () => {
  const { code: proof, codeNow } = await enrol('ada')
  const without = await signIn('ada')
  expect([without.status, without.body.problems]).toEqual([
    401,
    [{ kind: '', name: 'ada', field: 'code', reason: 'is needed' }],
  ])
  expect(without.headers['set-cookie']).toBeUndefined()
  // The one that proved the secret was used by that.
  expect((await signIn('ada', proof)).status).toBe(401)
  running.clockOffsetMs += 30_000
  expect((await signIn('ada', '000000')).status).toBe(401)
  const code = codeNow()
  expect((await signIn('ada', code)).status).toBe(200)
  expect((await signIn('ada', code)).status).toBe(401)
  running.clockOffsetMs += 30_000
  expect((await signIn('ada', codeNow())).status).toBe(200)
})

it('of a code that comes many times at once, one is taken', async () => {
  const { codeNow } = await enrol('bob')
  running.clockOffsetMs += 30_000
  const code = codeNow()
  const answers = await Promise.all(Array.from({ length: 4 }, () => signIn('bob', code)))
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
})

it('a code of two minutes ago is too old', async () => {
  const { codeNow } = await enrol('cleo')
  running.clockOffsetMs += 30_000
  const code = codeNow()
  running.clockOffsetMs += 120_000
  expect((await signIn('cleo', code)).status).toBe(401)
})

it('recovery codes stand in for the authenticator, each once', async () => {
  const { recoveryCodes } = await enrol('dora')
  expect(recoveryCodes).toHaveLength(10)
  const [first = '', second = ''] = recoveryCodes
  expect(first).toMatch(/^([A-Z2-7]{4}-){3}[A-Z2-7]{4}$/)
  expect((await signIn('dora', first)).status).toBe(200)
  expect((await signIn('dora', first)).status).toBe(401)
  expect((await signIn('dora', second.toLowerCase().replaceAll('-', ' '))).status).toBe(200)
})

it('keeps neither the secret nor the recovery codes readable, and they work after a restart', async () => {
  const { secret, recoveryCodes } = await enrol('emil')
  const files = ['sluice.db', 'sluice.db-wal'].map((file) => join(running.dataDir, file))
  const stored = (await Promise.all(files.map((file) => readFile(file, 'latin1')))).join('')
  const bytes = Buffer.from(Secret.fromBase32(secret).bytes).toString('latin1')
  expect(stored).toContain('emil')
  for (const text of [secret, bytes, ...recoveryCodes]) expect(stored).not.toContain(text)
  expect(running.log).not.toContain(secret)
  expect((await running.get('/audit/export')).text).not.toContain(secret)
  await running.stop()
  await running.startAgain()
  expect((await signIn('emil')).status).toBe(401)
  expect((await signIn('emil', recoveryCodes[0])).status).toBe(200)
})

it('enabling it takes the password and a code of the secret, and ends the other sessions', async () => {
  await running.post('/users', { name: 'fay', role: 'viewer', password })
  const [own, other] = [await session('fay'), await session('fay')]
  const { secret } = (await own('POST', '/session/second-factor/new')).body
  const enable = (changed: object) =>
    own('POST', '/session/second-factor', { password, secret, code: codeOf(secret), ...changed })
  const refused = [
    await enable({ password: 'wrong' }),
    await enable({ code: '000000' }),
    await enable({ secret: 'AAAA' }),
  ]
  expect(refused.map(({ status, body }) => [status, body.problems?.[0]?.field])).toEqual([
    [400, 'password'],
    [400, 'code'],
    [400, 'secret'],
  ])
  expect((await running.get('/users/fay')).body.hasSecondFactor).toBe(false)
  expect((await enable({})).status).toBe(200)
  expect((await own('GET', '/status')).status).toBe(200)
  expect((await other('GET', '/status')).status).toBe(401)
  expect((await running.get('/users/fay')).body.hasSecondFactor).toBe(true)
})

it('is taken away by the user with the password, or by an admin', async () => {
  const { send, recoveryCodes } = await enrol('gus')
  const remove = (sent: object) => send('POST', '/session/second-factor/remove', sent)
  expect((await remove({ password: 'wrong' })).status).toBe(400)
  expect((await remove({ password })).status).toBe(204)
  expect((await signIn('gus')).status).toBe(200)
  const again = await enrolSigned('gus', send)
  expect((await signIn('gus', recoveryCodes[3])).status).toBe(401)
  expect((await signIn('gus', again.recoveryCodes[3])).status).toBe(200)
  await running.patch('/users/gus', { hasSecondFactor: false })
  expect((await signIn('gus')).status).toBe(200)
})

it('is for users: neither the admin token nor an API token has one', async () => {
  expect((await running.post('/session/second-factor/new')).status).toBe(404)
})

type Send = Awaited<ReturnType<typeof session>>

async function enrol(name: string) {
  await running.post('/users', { name, role: 'viewer', password })
  const send = await session(name)
  return { send, ...(await enrolSigned(name, send)) }
}

async function enrolSigned(name: string, send: Send) {
  const { secret, uri } = (await send('POST', '/session/second-factor/new')).body
  expect(uri).toContain(`otpauth://totp/Sluice:${name}?issuer=Sluice&secret=${secret}`)
  const code = codeOf(secret)
  const { body } = await send('POST', '/session/second-factor', { password, secret, code })
  const recoveryCodes: string[] = body.recoveryCodes
  return { secret, code, recoveryCodes, codeNow: () => codeOf(secret) }
}

function codeOf(secret: string): string {
  const timestamp = Date.now() + running.clockOffsetMs
  return new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp })
}

function signIn(name: string, code?: string) {
  const sent = { name, password, ...(code !== undefined && { code }) }
  return running.send('POST', '/api/v1/session', sent, { token: null })
}

async function session(name: string) {
  const { headers, body } = await signIn(name)
  const cookie = String(headers['set-cookie']).split(';')[0] ?? ''
  const shown = { cookie, 'x-sluice-csrf': String(body.csrfToken) }
  return (method: string, path: string, sent?: unknown) =>
    running.send(method, `/api/v1${path}`, sent, { token: null, headers: shown })
}

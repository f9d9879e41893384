import { createPrivateKey, randomBytes, X509Certificate } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { makeChain } from '../certificates/testing/make-certificate.ts'
import { RunningControlPlane } from './testing/running-control-plane.ts'

let api: RunningControlPlane
let chain: Awaited<ReturnType<typeof makeChain>>

beforeAll(async () => {
  api = await RunningControlPlane.start()
  chain = await makeChain(['a.example', '*.A.example'])
})

afterAll(() => api.remove())

const uploaded = (more: object = {}) => ({
  name: 'up',
  source: 'uploaded',
  chainPem: chain.chainPem,
  privateKeyPem: chain.privateKeyPem,
  ...more,
})

it('takes a chain with its key and tells what is in it, without the key', async () => {
  const answer = await api.post('/certificates', uploaded())
  const leaf = new X509Certificate(chain.chainPem)
  expect([answer.status, answer.body]).toEqual([
    201,
    {
      name: 'up',
      labels: {},
      source: 'uploaded',
      chainPem: chain.chainPem,
      hosts: ['a.example', '*.a.example'],
      notBefore: leaf.validFromDate.toISOString(),
      notAfter: leaf.validToDate.toISOString(),
      fingerprint: leaf.fingerprint256.replaceAll(':', '').toLowerCase(),
      issuer: 'CN=Test root',
      warnings: [],
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
      revision: 1,
    },
  ])
})

it('keeps the key when only the chain is patched', async () => {
  const answer = await api.patch('/certificates/up', { chainPem: chain.leafPem })
  expect([answer.status, answer.body.chainPem]).toEqual([200, chain.leafPem])
})

it('asks for the key when the chain is patched to that of another key', async () => {
  const other = await makeChain(['b.example'])
  const answer = await api.patch('/certificates/up', { chainPem: other.chainPem })
  const reason = 'is required, since no stored key fits the chain'
  expect([answer.status, answer.body.problems]).toEqual([
    422,
    [{ kind: 'certificate', name: 'up', field: 'privateKeyPem', reason }],
  ])
})

it('refuses a key that does not fit, an encrypted one, garbage, and a chain out of order', async () => {
  const other = await makeChain(['b.example'])
  const encrypted = createPrivateKey(chain.privateKeyPem).export({
    type: 'pkcs8',
    format: 'pem',
    cipher: 'aes-256-cbc',
    passphrase: 'x',
  })
  const before = await api.version()
  const cases = [
    [{ privateKeyPem: other.privateKeyPem }, 'privateKeyPem', 'does not fit'],
    [{ privateKeyPem: encrypted.toString() }, 'privateKeyPem', 'is encrypted'],
    [{ privateKeyPem: 'garbage' }, 'privateKeyPem', 'no private key'],
    [{ chainPem: 'garbage' }, 'chainPem', 'no certificate'],
    [{ chainPem: chain.rootPem + chain.leafPem }, 'chainPem', 'order'],
    [{ chainPem: chain.chainPem + chain.privateKeyPem }, 'chainPem', 'contains a private key'],
  ] as const
  for (const [more, field, reason] of cases) {
    const answer = await api.put('/certificates/up', uploaded(more))
    expect(answer.status).toBe(422)
    expect(answer.body.problems).toContainEqual({
      kind: 'certificate',
      name: 'up',
      field,
      reason: expect.stringContaining(reason),
    })
  }
  expect(await api.version()).toBe(before)
})

it('takes an expired certificate, with a warning', async () => {
  const expired = await makeChain(['old.example'], new Date(Date.now() - 1_000))
  const body = uploaded({ ...expired, name: 'old' })
  const { leafPem: _, rootPem: __, ...sent } = body as Record<string, unknown>
  const answer = await api.post('/certificates', sent)
  expect([answer.status, answer.body.warnings]).toEqual([
    201,
    [expect.stringMatching(/^expired on /)],
  ])
  const applied = await api.apply({ kind: 'certificate', ...sent })
  expect(applied.body.warnings).toMatchObject([{ kind: 'certificate', name: 'old' }])
})

it('issues an internal certificate that ca.pem certifies', async () => {
  const hosts = ['demo.localhost', '127.0.0.1']
  const answer = await api.post('/certificates', { name: 'in', source: 'internal', hosts })
  const ca = new X509Certificate(await readFile(join(api.dataDir, 'ca.pem')))
  const leaf = new X509Certificate(answer.body.chainPem)
  expect(answer.body.hosts).toEqual(hosts)
  expect(leaf.verify(ca.publicKey) && leaf.checkIssued(ca)).toBe(true)
})

it('issues anew when the hosts change, and refuses hosts that are none', async () => {
  const { fingerprint } = (await api.get('/certificates/in')).body
  const answer = await api.patch('/certificates/in', { hosts: ['new.localhost'] })
  expect(answer.body.hosts).toEqual(['new.localhost'])
  expect(answer.body.fingerprint).not.toBe(fingerprint)
  const refused = await api.patch('/certificates/in', { hosts: ['a:1'] })
  expect(refused.body.problems).toMatchObject([{ name: 'in', field: 'hosts[0]' }])
})

it('seals keys in the database and shows them in no answer, version or log line', async () => {
  await api.get('/certificates')
  await api.get('/certificates/up')
  for (let number = 1; number <= (await api.version()); number += 1) {
    expect((await api.get(`/versions/${number}`)).status).toBe(200)
  }
  const created = await api.post('/join-tokens', {})
  const token: string = created.body.token
  await api.get('/join-tokens')
  await api.send('GET', '/api/v1/status', undefined, {
    token: `wrong-${randomBytes(8).toString('hex')}`,
  })
  await api.post('/certificates', '{"privateKeyPem": broken')
  const answers = api.answers.replace(token, '')
  const der = createPrivateKey(chain.privateKeyPem).export({ type: 'pkcs8', format: 'der' })
  const scalar = der.subarray(36, 68)
  const line = chain.privateKeyPem.split('\n')[1] ?? ''
  expect([scalar.length, line.length]).toEqual([32, 64])
  for (const secret of [line, token, token.split('.')[1] ?? '', api.token]) {
    expect(answers.includes(secret)).toBe(false)
    expect(api.log.includes(secret)).toBe(false)
  }
  for (const text of [answers, api.log]) expect(text).not.toMatch(/PRIVATE KEY|"publicKeyId"/)
  await api.stop()
  for (const file of await readdir(api.dataDir)) {
    if (file === 'master-key' || file === 'admin-token') continue
    const bytes = await readFile(join(api.dataDir, file))
    for (const secret of [Buffer.from(line), Buffer.from('PRIVATE KEY'), der, scalar]) {
      expect([file, bytes.includes(secret)]).toEqual([file, false])
    }
    expect([file, bytes.includes(token.split('.')[1] ?? '')]).toEqual([file, false])
  }
  await api.startAgain()
  expect((await api.get('/certificates/up')).status).toBe(200)
})

import { randomBytes, X509Certificate } from 'node:crypto'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { type Database, openDatabase } from '../store/database.ts'
import { Vault, VaultError } from '../store/vault.ts'
import { CertificateAuthority } from './authority.ts'
import { inspectChain, inspectKey } from './inspect.ts'
import { makeCsr, p256 } from './testing/make-csr.ts'

const dayMs = 86_400_000
const startMs = Date.parse('2026-06-01T12:00:00Z')
let db: Database
let vault: Vault
const now = () => startMs

beforeEach(async () => {
  db = await openDatabase(':memory:')
  vault = new Vault(randomBytes(32))
})

afterEach(() => db.destroy())

it('makes the CA once and loads the same one later', async () => {
  const first = await CertificateAuthority.open({ db, vault, now })
  const second = await CertificateAuthority.open({ db, vault, now })
  expect(second.caPem).toBe(first.caPem)
  const site = await second.issueSite(['demo.localhost'])
  expect(inspectChain(site.chainPem).hosts).toEqual(['demo.localhost'])
})

it('is a P-256 CA for ten years that may sign leaves only', async () => {
  const { caPem, fingerprint } = await CertificateAuthority.open({ db, vault, now })
  const ca = new X509Certificate(caPem)
  expect(ca.ca).toBe(true)
  expect(ca.publicKey.asymmetricKeyDetails).toEqual({ namedCurve: 'prime256v1' })
  expect(ca.validToDate).toEqual(new Date(startMs + 3_650 * dayMs))
  expect(ca.verify(ca.publicKey)).toBe(true)
  expect(fingerprint).toBe(ca.fingerprint256.replaceAll(':', '').toLowerCase())
})

it('does not open under another master key', async () => {
  await CertificateAuthority.open({ db, vault, now })
  const other = new Vault(randomBytes(32))
  await expect(CertificateAuthority.open({ db, vault: other, now })).rejects.toThrow(VaultError)
})

it('issues site certificates for DNS names and addresses, for servers only, 90 days', async () => {
  const authority = await CertificateAuthority.open({ db, vault, now })
  const { chainPem, privateKeyPem } = await authority.issueSite(['a.example', '*.b.example', '::1'])
  const facts = inspectChain(chainPem)
  expect(facts.hosts).toEqual(['a.example', '*.b.example', '::1'])
  expect(facts.notAfter).toEqual(new Date(startMs + 90 * dayMs))
  expect(facts.publicKeyId).toBe(inspectKey(privateKeyPem).publicKeyId)
  expect(new X509Certificate(chainPem).keyUsage).toEqual(['1.3.6.1.5.5.7.3.1'])
})

it('issues the fleet server its fixed name beside loopback and the given names', async () => {
  const authority = await CertificateAuthority.open({ db, vault, now })
  const { chainPem } = await authority.issueFleetServer(['cp.example', '10.0.0.1', 'localhost'])
  expect(inspectChain(chainPem).hosts).toEqual([
    'control-plane.sluice.internal',
    'localhost',
    '127.0.0.1',
    '::1',
    'cp.example',
    '10.0.0.1',
  ])
})

it('signs a node for its id, whatever subject it asked for', async () => {
  const authority = await CertificateAuthority.open({ db, vault, now })
  const issued = await authority.issueNode((await makeCsr()).csrPem, 'n-1')
  const certificate = new X509Certificate(issued.certificatePem)
  expect({
    subject: certificate.subject,
    names: certificate.subjectAltName,
    usage: certificate.keyUsage,
    isAuthority: certificate.ca,
    expires: certificate.validToDate.getTime(),
    isVouchedFor: authority.vouchesFor(certificate),
  }).toEqual({
    subject: 'CN=n-1',
    names: 'URI:sluice:node:n-1',
    usage: ['1.3.6.1.5.5.7.3.2'],
    isAuthority: false,
    expires: startMs + 30 * dayMs,
    isVouchedFor: true,
  })
  expect(issued.expiresAtMs).toBe(startMs + 30 * dayMs)
  expect(issued.fingerprint).toBe(certificate.fingerprint256.replaceAll(':', '').toLowerCase())
})

it('vouches neither for an expired certificate nor for one of another CA', async () => {
  let nowMs = startMs
  const authority = await CertificateAuthority.open({ db, vault, now: () => nowMs })
  const issued = await authority.issueNode((await makeCsr()).csrPem, 'n-1')
  const certificate = new X509Certificate(issued.certificatePem)
  nowMs = issued.expiresAtMs
  expect(authority.vouchesFor(certificate)).toBe(false)
  const otherDb = await openDatabase(':memory:')
  const other = await CertificateAuthority.open({ db: otherDb, vault, now })
  expect(other.vouchesFor(certificate)).toBe(false)
  await otherDb.destroy()
})

it.each([
  ['garbage', async () => 'garbage', 'is not a PEM block'],
  [
    'a damaged request',
    async () => '-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----',
    'cannot be read',
  ],
  ['an RSA key', () => csrWith(rsa2048), 'not an ECDSA key on the curve P-256'],
  ['another curve', () => csrWith({ ...p256, namedCurve: 'P-384' }), 'curve P-256'],
  ['a text too long', async () => 'x'.repeat(8_193), 'longer than 8192 characters'],
  ['a broken signature', breakSignature, 'signature of the CSR does not fit'],
])('refuses a node CSR with %s', async (_name, csr, reason) => {
  const authority = await CertificateAuthority.open({ db, vault, now })
  await expect(authority.issueNode(await csr(), 'n-1')).rejects.toThrow(reason)
})

const rsa2048 = {
  name: 'RSASSA-PKCS1-v1_5',
  hash: 'SHA-256',
  modulusLength: 2_048,
  publicExponent: new Uint8Array([1, 0, 1]),
}

async function csrWith(algorithm: Parameters<typeof makeCsr>[0]): Promise<string> {
  return (await makeCsr(algorithm)).csrPem
}

/** Turns a bit of the request's subject, which its signature covers. */
async function breakSignature(): Promise<string> {
  const pem = (await makeCsr()).csrPem
  const der = Buffer.from(pem.replace(/-----[A-Z ]+-----/g, ''), 'base64')
  const at = der.indexOf('somebody')
  der[at] = 'S'.charCodeAt(0)
  return `-----BEGIN CERTIFICATE REQUEST-----\n${der.toString('base64')}\n-----END CERTIFICATE REQUEST-----`
}

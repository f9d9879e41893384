import 'reflect-metadata'
import { generateKeyPairSync, type KeyObject, webcrypto } from 'node:crypto'
import {
  BasicConstraintsExtension,
  type JsonGeneralName,
  SubjectAlternativeNameExtension,
  type X509Certificate,
  X509CertificateGenerator,
} from '@peculiar/x509'
import { beforeAll, describe, expect, it } from 'vitest'
import { CertificateError } from './certificate-error.ts'
import { inspectChain, inspectKey } from './inspect.ts'

interface Issued {
  readonly pem: string
  readonly certificate: X509Certificate
  readonly keys: webcrypto.CryptoKeyPair
}

const ecdsa = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }

async function issue(
  subject: string,
  names: JsonGeneralName[],
  issuer?: Issued,
  isAuthority = issuer === undefined || names.length === 0,
): Promise<Issued> {
  const keys = await webcrypto.subtle.generateKey(ecdsa, true, ['sign', 'verify'])
  const certificate = await X509CertificateGenerator.create({
    subject,
    issuer: issuer?.certificate.subject ?? subject,
    notBefore: new Date('2026-01-01T00:00:00Z'),
    notAfter: new Date('2027-01-01T00:00:00Z'),
    publicKey: keys.publicKey,
    signingKey: issuer?.keys.privateKey ?? keys.privateKey,
    signingAlgorithm: ecdsa,
    extensions: [
      new BasicConstraintsExtension(isAuthority, undefined, true),
      ...(names.length === 0 ? [] : [new SubjectAlternativeNameExtension(names)]),
    ],
  })
  return { pem: `${certificate.toString('pem')}\n`, certificate, keys }
}

async function keyPem(issued: Issued): Promise<string> {
  const key = (await import('node:crypto')).KeyObject.from(issued.keys.privateKey)
  return key.export({ type: 'pkcs8', format: 'pem' }).toString()
}

let root: Issued
let intermediate: Issued
let leaf: Issued
let stranger: Issued

beforeAll(async () => {
  root = await issue('CN=Root', [])
  intermediate = await issue('CN=Intermediate', [], root)
  leaf = await issue(
    'CN=Leaf',
    [
      { type: 'dns', value: 'Shop.Example.com' },
      { type: 'dns', value: '*.example.com' },
      { type: 'ip', value: '127.0.0.1' },
      { type: 'ip', value: '2001:DB8::1' },
    ],
    intermediate,
  )
  stranger = await issue('CN=Intermediate', [])
})

function reasonOf(action: () => unknown): string {
  try {
    action()
  } catch (error) {
    if (error instanceof CertificateError) {
      return error.message
    }
    throw error
  }
  return 'accepted'
}

describe('inspectChain', () => {
  it('tells the names, validity, issuer and key of the leaf', async () => {
    const facts = inspectChain(leaf.pem + intermediate.pem + root.pem)
    expect(facts).toEqual({
      hosts: ['shop.example.com', '*.example.com', '127.0.0.1', '2001:db8::1'],
      notBefore: new Date('2026-01-01T00:00:00Z'),
      notAfter: new Date('2027-01-01T00:00:00Z'),
      fingerprint: Buffer.from(await leaf.certificate.getThumbprint('SHA-256')).toString('hex'),
      issuer: 'CN=Intermediate',
      publicKeyId: inspectKey(await keyPem(leaf)).publicKeyId,
    })
  })

  it('takes a leaf alone and text around the blocks', () => {
    expect(inspectChain(`subject=CN=Leaf\n${leaf.pem}`).hosts).toHaveLength(4)
  })

  it.each([
    ['an empty text', () => '', 'chainPem: holds no certificate in PEM form'],
    ['garbage', () => 'not a chain', 'chainPem: holds no certificate in PEM form'],
    [
      'a damaged certificate',
      () => leaf.pem.replace('MII', 'AAA'),
      'chainPem: certificate 1 cannot be read as X.509',
    ],
    [
      'a block that is cut off',
      () => leaf.pem + intermediate.pem.slice(0, 200),
      'chainPem: contains a PEM block that is cut off or damaged',
    ],
    [
      'a chain out of order',
      () => leaf.pem + root.pem + intermediate.pem,
      'chainPem: certificate 2 does not certify certificate 1; the order is leaf first',
    ],
    [
      'an issuer of the same name with another key',
      () => leaf.pem + stranger.pem,
      'chainPem: certificate 2 does not certify certificate 1; the order is leaf first',
    ],
    ['a repeated leaf', () => leaf.pem + leaf.pem, 'chainPem: certificate 2 repeats certificate 1'],
    [
      'a leaf without names',
      () => root.pem,
      'chainPem: the first certificate names no DNS name and no IP address (subjectAltName)',
    ],
    [
      'more than ten certificates',
      () => leaf.pem.repeat(11),
      'chainPem: has more than 10 certificates',
    ],
    ['a text too long', () => 'x'.repeat(131_073), 'chainPem: is longer than 131072 characters'],
  ])('refuses %s', (_name, chain, reason) => {
    expect(reasonOf(() => inspectChain(chain()))).toBe(reason)
  })

  it('refuses a private key in the chain, since chains are public', async () => {
    const key = await keyPem(leaf)
    expect(reasonOf(() => inspectChain(leaf.pem + key))).toBe(
      'chainPem: contains a private key; it belongs into privateKeyPem only',
    )
  })

  it('refuses an issuer that is no CA', async () => {
    const server = await issue('CN=Server', [{ type: 'dns', value: 'a.example' }], root, false)
    const below = await issue('CN=Below', [{ type: 'dns', value: 'b.example' }], server, false)
    expect(reasonOf(() => inspectChain(below.pem + server.pem))).toBe(
      'chainPem: certificate 2 does not certify certificate 1; the order is leaf first',
    )
  })
})

describe('inspectKey', () => {
  const { privateKey: ec } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const { privateKey: rsa } = generateKeyPairSync('rsa', { modulusLength: 2_048 })
  const pem = (key: KeyObject, type: 'pkcs8' | 'sec1' | 'pkcs1') =>
    key.export({ type, format: 'pem' }).toString()

  it('finds the same key in every form that it comes in', () => {
    expect(inspectKey(pem(ec, 'sec1'))).toEqual(inspectKey(pem(ec, 'pkcs8')))
    expect(inspectKey(pem(rsa, 'pkcs1'))).toEqual(inspectKey(pem(rsa, 'pkcs8')))
    expect(inspectKey(pem(rsa, 'pkcs1')).pkcs8Pem).toBe(pem(rsa, 'pkcs8'))
  })

  it.each([
    ['an empty text', '', 'privateKeyPem: holds no private key in PEM form'],
    [
      'garbage in a block',
      '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n',
      'privateKeyPem: cannot be read as a private key',
    ],
    [
      'an encrypted PKCS #8 key',
      ec
        .export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'secret' })
        .toString(),
      'privateKeyPem: is encrypted; hand it in without a passphrase',
    ],
    [
      'an encrypted key of the older form',
      rsa
        .export({ type: 'pkcs1', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'secret' })
        .toString(),
      'privateKeyPem: is encrypted; hand it in without a passphrase',
    ],
    ['two keys', pem(ec, 'pkcs8').repeat(2), 'privateKeyPem: holds more than one private key'],
    [
      'a short RSA key',
      pem(generateKeyPairSync('rsa', { modulusLength: 1_024 }).privateKey, 'pkcs8'),
      'privateKeyPem: is an RSA key of 1024 bits; at least 2048 are needed',
    ],
    [
      'a key that cannot sign',
      pem(generateKeyPairSync('x25519').privateKey, 'pkcs8'),
      'privateKeyPem: is a key of type x25519, which TLS servers cannot use here',
    ],
  ])('refuses %s', (_name, key, reason) => {
    expect(reasonOf(() => inspectKey(key))).toBe(reason)
  })
})

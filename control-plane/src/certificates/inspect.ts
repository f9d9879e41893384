/**
 * Reads certificate chains and private keys as operators hand them in: what they are good for, or why
 * they cannot be used. Pure; never keeps or logs a key.
 */
import 'reflect-metadata'
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  type KeyObject,
  X509Certificate,
} from 'node:crypto'
import {
  X509Certificate as ParsedCertificate,
  SubjectAlternativeNameExtension,
} from '@peculiar/x509'
import ipaddr from 'ipaddr.js'
import { CertificateError } from './certificate-error.ts'

export interface ChainFacts {
  /** Lower-case DNS names and IP addresses of the leaf. */
  readonly hosts: string[]
  readonly notBefore: Date
  readonly notAfter: Date
  /** Lower-case hex of SHA-256 over the leaf's DER. */
  readonly fingerprint: string
  readonly issuer: string
  readonly publicKeyId: string
}

export interface KeyFacts {
  /** Lower-case hex of SHA-256 over the public key's SubjectPublicKeyInfo: equal to the leaf's when they fit. */
  readonly publicKeyId: string
  /** The same key as unencrypted PKCS #8, whatever form it came in. */
  readonly pkcs8Pem: string
}

const limits = Object.freeze({
  chainCharactersMax: 131_072,
  certificatesMax: 10,
  keyCharactersMax: 32_768,
  hostsMax: 200,
  rsaBitsMin: 2_048,
})

const pemBlock = /-----BEGIN ([A-Z0-9 ]+)-----[^-]*-----END \1-----/g

/** Takes leaf first, then the certificate that certifies it, and so on; a root at the end is allowed. */
export function inspectChain(chainPem: string): ChainFacts {
  const chain = readChain(chainPem)
  const leaf = chain[0]
  if (leaf === undefined) {
    throw new CertificateError('chainPem', 'holds no certificate in PEM form')
  }
  assertOrder(chain)
  return {
    hosts: readHosts(leaf),
    notBefore: leaf.validFromDate,
    notAfter: leaf.validToDate,
    fingerprint: fingerprintOf(leaf.raw),
    issuer: leaf.issuer.split('\n').join(', '),
    publicKeyId: publicKeyIdOf(readPublicKey(leaf)),
  }
}

/** Takes one unencrypted private key in PEM form: PKCS #8, PKCS #1 or SEC 1. */
export function inspectKey(privateKeyPem: string): KeyFacts {
  const key = readPrivateKey(privateKeyPem)
  assertUsableKey(key)
  return {
    publicKeyId: publicKeyIdOf(createPublicKey(key)),
    pkcs8Pem: key.export({ type: 'pkcs8', format: 'pem' }).toString(),
  }
}

/** Lower-case hex of SHA-256 over a certificate's DER. */
export function fingerprintOf(der: Uint8Array): string {
  return createHash('sha256').update(der).digest('hex')
}

function readChain(chainPem: string): X509Certificate[] {
  if (chainPem.length > limits.chainCharactersMax) {
    throw new CertificateError('chainPem', `is longer than ${limits.chainCharactersMax} characters`)
  }
  const blocks = [...chainPem.matchAll(pemBlock)]
  // What is uploaded as chain is shown by the API, so a key in it would be given away.
  if (/-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----/.test(chainPem)) {
    throw new CertificateError(
      'chainPem',
      'contains a private key; it belongs into privateKeyPem only',
    )
  }
  const stranger = blocks.find((block) => block[1] !== 'CERTIFICATE')
  if (stranger !== undefined) {
    throw new CertificateError('chainPem', `contains a PEM block of type "${stranger[1]}"`)
  }
  if (blocks.length !== chainPem.split('-----BEGIN ').length - 1) {
    throw new CertificateError('chainPem', 'contains a PEM block that is cut off or damaged')
  }
  if (blocks.length > limits.certificatesMax) {
    throw new CertificateError('chainPem', `has more than ${limits.certificatesMax} certificates`)
  }
  return blocks.map((block, index) => readCertificate(block[0], index))
}

function readCertificate(pem: string, index: number): X509Certificate {
  try {
    return new X509Certificate(pem)
  } catch (cause) {
    const reason = `certificate ${index + 1} cannot be read as X.509`
    throw new CertificateError('chainPem', reason, { cause })
  }
}

function assertOrder(chain: readonly X509Certificate[]): void {
  const seen = new Map<string, number>()
  for (const [index, certificate] of chain.entries()) {
    const first = seen.get(certificate.fingerprint256)
    if (first !== undefined) {
      const reason = `certificate ${index + 1} repeats certificate ${first + 1}`
      throw new CertificateError('chainPem', reason)
    }
    seen.set(certificate.fingerprint256, index)
    const previous = chain[index - 1]
    if (previous !== undefined && !certifies(certificate, previous)) {
      const reason = `certificate ${index + 1} does not certify certificate ${index}; the order is leaf first`
      throw new CertificateError('chainPem', reason)
    }
  }
}

function certifies(issuer: X509Certificate, subject: X509Certificate): boolean {
  return issuer.ca && subject.checkIssued(issuer) && subject.verify(readPublicKey(issuer))
}

function readPublicKey(certificate: X509Certificate): KeyObject {
  try {
    return certificate.publicKey
  } catch (cause) {
    throw new CertificateError('chainPem', 'has a public key of an unknown type', { cause })
  }
}

function readHosts(leaf: X509Certificate): string[] {
  // The parsed extension, not Node's text form of it, in which a name may hold separators.
  const names = new ParsedCertificate(leaf.raw).getExtension(SubjectAlternativeNameExtension)?.names
  const hosts: string[] = []
  for (const name of names?.items ?? []) {
    if (name.type === 'dns') {
      hosts.push(name.value.toLowerCase())
    } else if (name.type === 'ip') {
      hosts.push(ipaddr.isValid(name.value) ? ipaddr.parse(name.value).toString() : name.value)
    }
  }
  if (hosts.length === 0) {
    const reason = 'the first certificate names no DNS name and no IP address (subjectAltName)'
    throw new CertificateError('chainPem', reason)
  }
  if (hosts.length > limits.hostsMax) {
    throw new CertificateError(
      'chainPem',
      `the first certificate has more than ${limits.hostsMax} names`,
    )
  }
  return [...new Set(hosts)]
}

function readPrivateKey(privateKeyPem: string): KeyObject {
  if (privateKeyPem.length > limits.keyCharactersMax) {
    throw new CertificateError(
      'privateKeyPem',
      `is longer than ${limits.keyCharactersMax} characters`,
    )
  }
  // The older form has header lines inside the block, which the pattern for blocks would not match.
  if (/BEGIN ENCRYPTED PRIVATE KEY|Proc-Type: 4,ENCRYPTED/.test(privateKeyPem)) {
    throw new CertificateError('privateKeyPem', 'is encrypted; hand it in without a passphrase')
  }
  const keys = [...privateKeyPem.matchAll(pemBlock)].filter((block) =>
    block[1]?.endsWith('PRIVATE KEY'),
  )
  const [first, second] = keys
  if (first === undefined) {
    throw new CertificateError('privateKeyPem', 'holds no private key in PEM form')
  }
  if (second !== undefined) {
    throw new CertificateError('privateKeyPem', 'holds more than one private key')
  }
  try {
    return createPrivateKey(first[0])
  } catch {
    // The cause is dropped: what OpenSSL says may quote the key's bytes.
    throw new CertificateError('privateKeyPem', 'cannot be read as a private key')
  }
}

function assertUsableKey(key: KeyObject): void {
  switch (key.asymmetricKeyType) {
    case 'rsa': {
      const bits = key.asymmetricKeyDetails?.modulusLength ?? 0
      if (bits < limits.rsaBitsMin) {
        const reason = `is an RSA key of ${bits} bits; at least ${limits.rsaBitsMin} are needed`
        throw new CertificateError('privateKeyPem', reason)
      }
      return
    }
    case 'ec':
      if (key.asymmetricKeyDetails?.namedCurve === undefined) {
        throw new CertificateError('privateKeyPem', 'is an EC key without a named curve')
      }
      return
    case 'ed25519':
      return
    default: {
      const reason = `is a key of type ${key.asymmetricKeyType}, which TLS servers cannot use here`
      throw new CertificateError('privateKeyPem', reason)
    }
  }
}

function publicKeyIdOf(key: KeyObject): string {
  return createHash('sha256')
    .update(key.export({ type: 'spki', format: 'der' }))
    .digest('hex')
}

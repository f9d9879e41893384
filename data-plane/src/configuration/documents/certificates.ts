/**
 * Certificates of a static file: chain and key from the document or from files beside it, checked as the
 * control plane checks uploads. What it says never quotes a key.
 */
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Certificate } from '@sluice/proto'
import ipaddr from 'ipaddr.js'
import type { Finding } from './schema-problems.ts'
import { type CertificateDocument, documentLimits } from './schemas.ts'

export type CertificateReading =
  | { readonly kind: 'read'; readonly certificate: Certificate }
  | { readonly kind: 'refused'; readonly findings: readonly Finding[] }

const limits = Object.freeze({
  chainCharactersMax: 131_072,
  certificatesMax: 10,
  keyCharactersMax: 32_768,
  hostsMax: 200,
  rsaBitsMin: 2_048,
})

const PEM_BLOCK = /-----BEGIN ([A-Z0-9 ]+)-----[^-]*-----END \1-----/g

/** `folder`: what paths in the document start from. */
export async function readCertificate(
  document: CertificateDocument,
  folder: string,
): Promise<CertificateReading> {
  const findings: Finding[] = []
  const { name, chainPem: chainText, chainFile, privateKeyPem: keyText, privateKeyFile } = document
  const chainPem = await pemOf('chain', { text: chainText, path: chainFile, folder }, findings)
  const keyPem = await pemOf(
    'privateKey',
    { text: keyText, path: privateKeyFile, folder },
    findings,
  )
  const chainField = chainText === undefined ? 'chainFile' : 'chainPem'
  const keyField = keyText === undefined ? 'privateKeyFile' : 'privateKeyPem'
  const chain =
    chainPem === undefined ? undefined : attempt(chainField, findings, () => parseChain(chainPem))
  const key = keyPem === undefined ? undefined : attempt(keyField, findings, () => parseKey(keyPem))
  if (chainPem === undefined || chain === undefined || key === undefined) {
    return { kind: 'refused', findings }
  }
  if (!chain.leaf.checkPrivateKey(key)) {
    const reason = 'does not fit the first certificate of the chain'
    return { kind: 'refused', findings: [{ field: keyField, reason }] }
  }
  const privateKeyPem = key.export({ type: 'pkcs8', format: 'pem' }).toString()
  return { kind: 'read', certificate: { name, chainPem, privateKeyPem, hosts: chain.hosts } }
}

interface PemSource {
  readonly text: string | undefined
  readonly path: string | undefined
  readonly folder: string
}

async function pemOf(
  part: 'chain' | 'privateKey',
  { text, path, folder }: PemSource,
  findings: Finding[],
): Promise<string | undefined> {
  const field = `${part}File`
  if (text !== undefined) {
    if (path === undefined) return text
    findings.push({ field, reason: `says again what ${part}Pem says; give one of the two` })
    return undefined
  }
  if (path === undefined) {
    findings.push({ field: `${part}Pem`, reason: `is required, or ${field} with a path` })
    return undefined
  }
  const file = resolve(folder, path)
  try {
    const content = await readFile(file, 'utf8')
    if (content.length <= documentLimits.pemCharactersMax) return content
    findings.push({ field, reason: `is longer than ${documentLimits.pemCharactersMax} characters` })
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    findings.push({ field, reason: `cannot be read: ${why}` })
  }
  return undefined
}

/** Thrown by the readers below, for `attempt` alone. */
class Unusable extends Error {}

function attempt<T>(field: string, findings: Finding[], read: () => T): T | undefined {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof Unusable)) throw error
    findings.push({ field, reason: error.message })
    return undefined
  }
}

/** Leaf first, each followed by the certificate that certifies it. */
function parseChain(pem: string): { leaf: X509Certificate; hosts: string[] } {
  if (pem.length > limits.chainCharactersMax) {
    throw new Unusable(`is longer than ${limits.chainCharactersMax} characters`)
  }
  const blocks = [...pem.matchAll(PEM_BLOCK)]
  if (/-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----/.test(pem)) {
    throw new Unusable('contains a private key, which has a field of its own')
  }
  const stranger = blocks.find(([, type]) => type !== 'CERTIFICATE')
  if (stranger !== undefined) throw new Unusable(`contains a PEM block of type "${stranger[1]}"`)
  if (blocks.length !== pem.split('-----BEGIN ').length - 1) {
    throw new Unusable('contains a PEM block that is cut off or damaged')
  }
  if (blocks.length > limits.certificatesMax) {
    throw new Unusable(`has more than ${limits.certificatesMax} certificates`)
  }
  const chain = blocks.map(([block], index) => parseCertificate(block, index + 1))
  const [leaf] = chain
  if (leaf === undefined) throw new Unusable('holds no certificate in PEM form')
  for (const [index, certificate] of chain.entries()) {
    const subject = chain[index - 1]
    if (subject === undefined || certifies(certificate, subject)) continue
    throw new Unusable(`has a certificate ${index + 1} that does not certify the one before it`)
  }
  return { leaf, hosts: hostsOf(leaf) }
}

function parseCertificate(pem: string, number: number): X509Certificate {
  try {
    return new X509Certificate(pem)
  } catch {
    throw new Unusable(`has a certificate ${number} that cannot be read as X.509`)
  }
}

function certifies(issuer: X509Certificate, subject: X509Certificate): boolean {
  // The same one twice would pass where it is its own issuer.
  if (issuer.fingerprint256 === subject.fingerprint256) return false
  return issuer.ca && subject.checkIssued(issuer) && subject.verify(issuer.publicKey)
}

/** Node writes names that hold its own separators as JSON strings, so the text has one reading. */
function hostsOf({ subjectAltName = '' }: X509Certificate): string[] {
  const hosts = new Set<string>()
  const names = /(?:^|, )([^:]+):("(?:[^"\\]|\\.)*"|[^,]*)/g
  for (const [, type, text = ''] of subjectAltName.matchAll(names)) {
    const name = text.startsWith('"') ? String(JSON.parse(text)) : text
    if (type === 'DNS') hosts.add(name.toLowerCase())
    else if (type === 'IP Address') {
      hosts.add(ipaddr.isValid(name) ? ipaddr.parse(name).toString() : name)
    }
  }
  if (hosts.size === 0) {
    throw new Unusable(
      'has no DNS name and no IP address in its first certificate (subjectAltName)',
    )
  }
  if (hosts.size > limits.hostsMax) throw new Unusable(`has more than ${limits.hostsMax} names`)
  return [...hosts]
}

function parseKey(pem: string): KeyObject {
  if (pem.length > limits.keyCharactersMax) {
    throw new Unusable(`is longer than ${limits.keyCharactersMax} characters`)
  }
  if (/BEGIN ENCRYPTED PRIVATE KEY|Proc-Type: 4,ENCRYPTED/.test(pem)) {
    throw new Unusable('is encrypted; give it without a passphrase')
  }
  const keys = [...pem.matchAll(PEM_BLOCK)].filter(([, type]) => type?.endsWith('PRIVATE KEY'))
  const [first, second] = keys
  if (first === undefined) throw new Unusable('holds no private key in PEM form')
  if (second !== undefined) throw new Unusable('holds more than one private key')
  let key: KeyObject
  try {
    key = createPrivateKey(first[0])
  } catch {
    // The cause is left out: what OpenSSL says may quote the key.
    throw new Unusable('cannot be read as a private key')
  }
  const reason = keyReason(key)
  if (reason !== undefined) throw new Unusable(reason)
  return key
}

function keyReason({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): string | undefined {
  switch (asymmetricKeyType) {
    case 'rsa': {
      const bits = asymmetricKeyDetails?.modulusLength ?? 0
      if (bits >= limits.rsaBitsMin) return undefined
      return `is an RSA key of ${bits} bits; at least ${limits.rsaBitsMin} are needed`
    }
    case 'ec':
      return asymmetricKeyDetails?.namedCurve === undefined
        ? 'is an EC key without a named curve'
        : undefined
    case 'ed25519':
      return undefined
    default:
      return `is a key of type ${asymmetricKeyType}, which TLS servers cannot use here`
  }
}

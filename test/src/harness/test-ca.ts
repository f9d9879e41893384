/** A certificate authority of the test's own, for what operators upload and what attackers present. */
import 'reflect-metadata'
import type { webcrypto } from 'node:crypto'
import * as x509 from '@peculiar/x509'

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
const DAY_MS = 86_400_000

export interface Issued {
  readonly chainPem: string
  readonly privateKeyPem: string
}

export interface IssueOptions {
  readonly hosts: readonly string[]
  readonly commonName?: string
  readonly notBefore?: Date
  readonly notAfter?: Date
  /** A URI among the names, as node certificates have it. */
  readonly uri?: string
  readonly isForClients?: boolean
}

export class TestCa {
  readonly #certificate: x509.X509Certificate
  readonly #keys: webcrypto.CryptoKeyPair

  static async create(name = 'Test CA'): Promise<TestCa> {
    const keys = await makeKeys()
    const certificate = await x509.X509CertificateGenerator.createSelfSigned({
      name: `CN=${name}`,
      keys,
      signingAlgorithm: ALGORITHM,
      notBefore: new Date(Date.now() - DAY_MS),
      notAfter: new Date(Date.now() + 365 * DAY_MS),
      extensions: [new x509.BasicConstraintsExtension(true, 0, true)],
    })
    return new TestCa(certificate, keys)
  }

  private constructor(certificate: x509.X509Certificate, keys: webcrypto.CryptoKeyPair) {
    this.#certificate = certificate
    this.#keys = keys
  }

  get pem(): string {
    return this.#certificate.toString('pem')
  }

  async issue(options: IssueOptions): Promise<Issued> {
    const { hosts, commonName = hosts[0] ?? 'none', uri, isForClients = false } = options
    const keys = await makeKeys()
    const names: x509.JsonGeneralName[] = hosts.map((value) => ({ type: 'dns', value }))
    if (uri !== undefined) names.push({ type: 'url', value: uri })
    const usage = isForClients ? x509.ExtendedKeyUsage.clientAuth : x509.ExtendedKeyUsage.serverAuth
    const leaf = await x509.X509CertificateGenerator.create({
      subject: `CN=${commonName}`,
      issuer: this.#certificate.subject,
      publicKey: keys.publicKey,
      signingKey: this.#keys.privateKey,
      signingAlgorithm: ALGORITHM,
      notBefore: options.notBefore ?? new Date(Date.now() - DAY_MS),
      notAfter: options.notAfter ?? new Date(Date.now() + 30 * DAY_MS),
      extensions: [
        new x509.SubjectAlternativeNameExtension(names),
        new x509.ExtendedKeyUsageExtension([usage]),
      ],
    })
    return { chainPem: leaf.toString('pem'), privateKeyPem: await privateKeyPem(keys) }
  }
}

export function makeKeys(): Promise<webcrypto.CryptoKeyPair> {
  return crypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify'])
}

export async function privateKeyPem(keys: webcrypto.CryptoKeyPair): Promise<string> {
  const der = await crypto.subtle.exportKey('pkcs8', keys.privateKey)
  return x509.PemConverter.encode(der, 'PRIVATE KEY')
}

/** A signing request, PEM, as a node makes it. */
export async function signingRequest(
  keys: webcrypto.CryptoKeyPair,
  name = 'CN=node',
): Promise<string> {
  const request = await x509.Pkcs10CertificateRequestGenerator.create({
    name,
    keys,
    signingAlgorithm: ALGORITHM,
  })
  return request.toString('pem')
}

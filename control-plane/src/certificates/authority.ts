/**
 * The internal certificate authority: one ECDSA P-256 key, made at the first start and sealed in the
 * database. It signs nodes, the fleet server and, when asked, sites. Its key never leaves this class.
 */
import 'reflect-metadata'
import { webcrypto, X509Certificate } from 'node:crypto'
import { isIP } from 'node:net'
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  type JsonGeneralName,
  KeyUsageFlags,
  KeyUsagesExtension,
  X509Certificate as ParsedCertificate,
  PemConverter,
  type PublicKey,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  X509CertificateGenerator,
} from '@peculiar/x509'
import { findAuthority, insertAuthority } from '../store/authority.ts'
import type { Database } from '../store/database.ts'
import { sealContexts } from '../store/seal-contexts.ts'
import type { Vault } from '../store/vault.ts'
import { fingerprintOf } from './inspect.ts'
import { readSigningRequest } from './signing-request.ts'

export interface AuthorityOptions {
  readonly db: Database
  readonly vault: Vault
  readonly now: () => number
}

/** A key that we made and the chain for it: leaf first, then the CA. */
export interface IssuedIdentity {
  readonly chainPem: string
  readonly privateKeyPem: string
}

/** A node's certificate; the key stays at the node. */
export interface IssuedNodeCertificate {
  readonly certificatePem: string
  readonly fingerprint: string
  readonly expiresAtMs: number
}

const dayMs = 86_400_000
const lifetimes = Object.freeze({
  authorityMs: 3_650 * dayMs,
  siteMs: 90 * dayMs,
  serverMs: 90 * dayMs,
  nodeMs: 30 * dayMs,
  // Certificates start a little in the past, for peers whose clocks are behind.
  backdatedMs: 300_000,
})

const keyAlgorithm = { name: 'ECDSA', namedCurve: 'P-256' }
const signatureAlgorithm = { name: 'ECDSA', hash: 'SHA-256' }
const authorityName = 'CN=Sluice internal CA'

/** The name by which nodes verify the fleet server, whatever address they dial. */
export const fleetServerName = 'control-plane.sluice.internal'

export class CertificateAuthority {
  /** The CA's certificate. */
  readonly caPem: string
  /** Lower-case hex of SHA-256 over the CA certificate's DER, as join tokens carry it. */
  readonly fingerprint: string
  readonly #certificate: X509Certificate
  readonly #parsed: ParsedCertificate
  readonly #key: webcrypto.CryptoKey
  readonly #now: () => number

  private constructor(caPem: string, key: webcrypto.CryptoKey, now: () => number) {
    this.caPem = caPem
    this.#certificate = new X509Certificate(caPem)
    this.#parsed = new ParsedCertificate(this.#certificate.raw)
    this.fingerprint = fingerprintOf(this.#certificate.raw)
    this.#key = key
    this.#now = now
  }

  /** Loads the CA, or makes it when the database has none. */
  static async open({ db, vault, now }: AuthorityOptions): Promise<CertificateAuthority> {
    const row = await findAuthority(db)
    if (row !== undefined) {
      const pkcs8 = Uint8Array.from(vault.open(row.sealed_key, sealContexts.authority))
      const key = await webcrypto.subtle.importKey('pkcs8', pkcs8, keyAlgorithm, false, ['sign'])
      return new CertificateAuthority(row.certificate_pem, key, now)
    }
    const keys = await webcrypto.subtle.generateKey(keyAlgorithm, true, ['sign', 'verify'])
    const caPem = await createAuthorityCertificate(keys, now())
    const pkcs8 = await webcrypto.subtle.exportKey('pkcs8', keys.privateKey)
    await insertAuthority(db, {
      id: 1,
      certificate_pem: caPem,
      sealed_key: vault.seal(new Uint8Array(pkcs8), sealContexts.authority),
      created_at_ms: now(),
    })
    return new CertificateAuthority(caPem, keys.privateKey, now)
  }

  /** A key and certificate for TLS servers of these DNS names and IP addresses. */
  issueSite(hosts: readonly string[]): Promise<IssuedIdentity> {
    return this.#issueServer(hosts, lifetimes.siteMs)
  }

  /** The fleet server's own identity: its fixed name, the loopback addresses, and `names`. */
  issueFleetServer(names: readonly string[]): Promise<IssuedIdentity> {
    const hosts = [fleetServerName, 'localhost', '127.0.0.1', '::1', ...names]
    return this.#issueServer([...new Set(hosts)], lifetimes.serverMs)
  }

  /** Signs the key of a PKCS #10 request for a node. The request's own subject counts for nothing. */
  async issueNode(csrPem: string, nodeId: string): Promise<IssuedNodeCertificate> {
    const publicKey = await readSigningRequest(csrPem)
    const leaf = await this.#sign(publicKey, {
      commonName: nodeId,
      names: [{ type: 'url', value: nodeUri(nodeId) }],
      usage: ExtendedKeyUsage.clientAuth,
      lifetimeMs: lifetimes.nodeMs,
    })
    return {
      certificatePem: `${leaf.toString('pem')}\n`,
      fingerprint: fingerprintOf(new Uint8Array(leaf.rawData)),
      expiresAtMs: leaf.notAfter.getTime(),
    }
  }

  /** Whether this CA signed the certificate and it is within its validity. */
  vouchesFor(certificate: X509Certificate): boolean {
    const nowMs = this.#now()
    return (
      certificate.checkIssued(this.#certificate) &&
      certificate.verify(this.#certificate.publicKey) &&
      certificate.validFromDate.getTime() <= nowMs &&
      nowMs < certificate.validToDate.getTime()
    )
  }

  async #issueServer(hosts: readonly string[], lifetimeMs: number): Promise<IssuedIdentity> {
    const keys = await webcrypto.subtle.generateKey(keyAlgorithm, true, ['sign', 'verify'])
    const leaf = await this.#sign(keys.publicKey, {
      commonName: hosts.find((host) => host.length <= commonNameCharactersMax) ?? '',
      names: hosts.map((host) => ({ type: isIP(host) === 0 ? 'dns' : 'ip', value: host })),
      usage: ExtendedKeyUsage.serverAuth,
      lifetimeMs,
    })
    const pkcs8 = await webcrypto.subtle.exportKey('pkcs8', keys.privateKey)
    return {
      chainPem: `${leaf.toString('pem')}\n${this.caPem}`,
      privateKeyPem: `${PemConverter.encode(pkcs8, 'PRIVATE KEY')}\n`,
    }
  }

  async #sign(
    publicKey: webcrypto.CryptoKey | PublicKey,
    leaf: LeafDescription,
  ): Promise<ParsedCertificate> {
    const nowMs = this.#now()
    const expiresAtMs = Math.min(nowMs + leaf.lifetimeMs, this.#parsed.notAfter.getTime())
    return X509CertificateGenerator.create(
      {
        subject: leaf.commonName === '' ? [] : [{ CN: [leaf.commonName] }],
        issuer: this.#parsed.subjectName,
        notBefore: new Date(nowMs - lifetimes.backdatedMs),
        notAfter: new Date(expiresAtMs),
        publicKey,
        signingKey: this.#key,
        signingAlgorithm: signatureAlgorithm,
        extensions: [
          new BasicConstraintsExtension(false, undefined, true),
          new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
          new ExtendedKeyUsageExtension([leaf.usage]),
          // RFC 5280 section 4.2.1.6: critical when the subject is empty.
          new SubjectAlternativeNameExtension(leaf.names, leaf.commonName === ''),
          await SubjectKeyIdentifierExtension.create(publicKey),
          await AuthorityKeyIdentifierExtension.create(this.#parsed.publicKey),
        ],
      },
      webcrypto as Crypto,
    )
  }
}

interface LeafDescription {
  readonly commonName: string
  readonly names: JsonGeneralName[]
  readonly usage: ExtendedKeyUsage
  readonly lifetimeMs: number
}

/** RFC 5280 appendix A.1, ub-common-name. */
const commonNameCharactersMax = 64

/** The name of a node in its certificate. */
export function nodeUri(nodeId: string): string {
  return `sluice:node:${nodeId}`
}

async function createAuthorityCertificate(
  keys: webcrypto.CryptoKeyPair,
  nowMs: number,
): Promise<string> {
  const certificate = await X509CertificateGenerator.createSelfSigned(
    {
      name: authorityName,
      notBefore: new Date(nowMs - lifetimes.backdatedMs),
      notAfter: new Date(nowMs + lifetimes.authorityMs),
      keys,
      signingAlgorithm: signatureAlgorithm,
      extensions: [
        new BasicConstraintsExtension(true, 0, true),
        new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
        await SubjectKeyIdentifierExtension.create(keys.publicKey),
      ],
    },
    webcrypto as Crypto,
  )
  return `${certificate.toString('pem')}\n`
}

/**
 * Turns certificate documents into certificates: reads the uploaded chain and key and checks that they fit,
 * or has the internal CA issue. Private keys go to the key ring and nowhere else.
 */
import type { CertificateAuthority } from '../certificates/authority.ts'
import { CertificateError } from '../certificates/certificate-error.ts'
import { inspectChain, inspectKey } from '../certificates/inspect.ts'
import { checkList } from '../model/check-resource.ts'
import type {
  InternalCertificateDocument,
  UploadedCertificateDocument,
} from '../model/documents.ts'
import { certificateHostReason } from '../model/fields.ts'
import type { Problem } from '../model/kinds.ts'
import { normaliseHosts, sortedLabels } from '../model/normalise.ts'
import type { Certificate } from '../model/resources.ts'
import type { KeyRing, PrivateKey } from './key-ring.ts'

export type PreparedCertificate =
  | { readonly kind: 'ready'; readonly certificate: Certificate; readonly key?: PrivateKey }
  | { readonly kind: 'refused'; readonly problems: readonly Problem[] }

export class CertificateDesk {
  readonly #authority: CertificateAuthority
  readonly #keys: KeyRing
  readonly #now: () => number

  constructor(authority: CertificateAuthority, keys: KeyRing, now: () => number) {
    this.#authority = authority
    this.#keys = keys
    this.#now = now
  }

  /** `existing` is the certificate of that name before the change, if any. */
  prepare(
    document: UploadedCertificateDocument | InternalCertificateDocument,
    existing: Certificate | undefined,
  ): Promise<PreparedCertificate> | PreparedCertificate {
    return document.source === 'uploaded' ? this.#upload(document) : this.#issue(document, existing)
  }

  #upload(document: UploadedCertificateDocument): PreparedCertificate {
    const problems: Problem[] = []
    const attempt = <T>(inspect: () => T): T | undefined => {
      try {
        return inspect()
      } catch (error) {
        if (!(error instanceof CertificateError)) throw error
        const { field, reason } = error
        problems.push({ kind: 'certificate', name: document.name, field, reason })
        return undefined
      }
    }
    const { privateKeyPem } = document
    const chain = attempt(() => inspectChain(document.chainPem))
    const key = privateKeyPem === undefined ? undefined : attempt(() => inspectKey(privateKeyPem))
    if (chain === undefined || problems.length > 0) return { kind: 'refused', problems }
    const id = chain.publicKeyId
    if (key === undefined ? this.#keys.find(id) === undefined : key.publicKeyId !== id) {
      const reason =
        key === undefined
          ? 'is required, since no stored key fits the chain'
          : 'does not fit the first certificate of the chain'
      return {
        kind: 'refused',
        problems: [{ kind: 'certificate', name: document.name, field: 'privateKeyPem', reason }],
      }
    }
    return {
      kind: 'ready',
      certificate: toCertificate(document, document.chainPem),
      ...(key !== undefined && { key: { id, pem: key.pkcs8Pem } }),
    }
  }

  async #issue(
    document: InternalCertificateDocument,
    existing: Certificate | undefined,
  ): Promise<PreparedCertificate> {
    const { name } = document
    const hosts = normaliseHosts(document.hosts)
    const found = checkList('hosts', hosts, certificateHostReason)
    if (found.length > 0) {
      const problems = found.map((finding) => ({ kind: 'certificate' as const, name, ...finding }))
      return { kind: 'refused', problems }
    }
    if (existing !== undefined && this.#isGoodFor(existing, hosts)) {
      return { kind: 'ready', certificate: { ...existing, labels: labelsOf(document) } }
    }
    const { chainPem, privateKeyPem } = await this.#authority.issueSite(hosts)
    const certificate = toCertificate(document, chainPem)
    return { kind: 'ready', certificate, key: { id: certificate.publicKeyId, pem: privateKeyPem } }
  }

  /** An internal certificate is kept until two thirds of its life are over. */
  #isGoodFor(existing: Certificate, hosts: readonly string[]): boolean {
    const wanted = new Set(hosts)
    const hasSameHosts =
      existing.hosts.length === wanted.size && existing.hosts.every((host) => wanted.has(host))
    return existing.source === 'internal' && hasSameHosts && !isDueForRenewal(existing, this.#now())
  }
}

/** Whether two thirds of the certificate's life are over. */
export function isDueForRenewal(
  { notBefore, notAfter }: Pick<Certificate, 'notBefore' | 'notAfter'>,
  nowMs: number,
): boolean {
  const startMs = Date.parse(notBefore)
  return nowMs >= startMs + (2 / 3) * (Date.parse(notAfter) - startMs)
}

function labelsOf({ labels = {} }: { labels?: Record<string, string> }): Record<string, string> {
  return sortedLabels(labels)
}

export function toCertificate(
  document: UploadedCertificateDocument | InternalCertificateDocument,
  chainPem: string,
): Certificate {
  const { name, source } = document
  const { hosts, notBefore, notAfter, fingerprint, issuer, publicKeyId } = inspectChain(chainPem)
  return {
    name,
    labels: labelsOf(document),
    source,
    chainPem,
    hosts,
    notBefore: notBefore.toISOString(),
    notAfter: notAfter.toISOString(),
    fingerprint,
    issuer,
    publicKeyId,
  }
}

/** Which certificate a server name gets (RFC 6066 section 3, RFC 9525 section 6.3), checked before it is used. */
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { type Certificate, type Problem, ResourceKind } from '@sluice/proto'
import { problem } from './problems.ts'

export interface CertificateTable {
  readonly byName: ReadonlyMap<string, Certificate>
  /** Keys: host names, and ".example.com" for "*.example.com". */
  readonly byHost: ReadonlyMap<string, Certificate>
}

/** Where two certificates cover a host, the one that is first by name serves it. */
export function certificateTable(certificates: readonly Certificate[]): CertificateTable {
  const byName = new Map<string, Certificate>()
  const byHost = new Map<string, Certificate>()
  for (const certificate of certificates.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    byName.set(certificate.name, certificate)
    for (const host of certificate.hosts) {
      const key = (host.startsWith('*.') ? host.slice(1) : host).toLowerCase()
      if (!byHost.has(key)) byHost.set(key, certificate)
    }
  }
  return { byName, byHost }
}

/** The certificate of a server name: an exact host before a wildcard of exactly one label. */
export function findCertificate(
  table: CertificateTable,
  serverName: string,
): Certificate | undefined {
  const lowerCase = serverName.toLowerCase()
  const name = lowerCase.endsWith('.') ? lowerCase.slice(0, -1) : lowerCase
  const exact = table.byHost.get(name)
  const dot = name.indexOf('.')
  return exact ?? (dot > 0 ? table.byHost.get(name.slice(dot)) : undefined)
}

/** False: its problem was reported. */
export function checkCertificate(certificate: Certificate, problems: Problem[]): boolean {
  const report = (field: string, reason: string) => {
    problems.push(problem(ResourceKind.CERTIFICATE, certificate.name, field, reason))
    return false
  }
  let leaf: X509Certificate
  try {
    leaf = new X509Certificate(certificate.chainPem)
  } catch {
    return report('chainPem', 'cannot be read as certificates in PEM')
  }
  try {
    const key = createPrivateKey(certificate.privateKeyPem)
    return leaf.checkPrivateKey(key) || report('privateKeyPem', 'does not fit the certificate')
  } catch {
    return report('privateKeyPem', 'cannot be read as a private key in PEM')
  }
}

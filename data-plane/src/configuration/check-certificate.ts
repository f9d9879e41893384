/** Whether a certificate can be served: chain and key are read before any worker needs them. */
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { type Certificate, type Problem, ResourceKind } from '@sluice/proto'
import { problem } from './problems.ts'

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

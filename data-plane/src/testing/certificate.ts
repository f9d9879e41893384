/** A self-signed certificate for tests of TLS. */
import 'reflect-metadata'
import { webcrypto } from 'node:crypto'
import { SubjectAlternativeNameExtension, X509CertificateGenerator } from '@peculiar/x509'

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
const DAY_MS = 86_400_000

export async function makeCertificate(
  host: string,
): Promise<{ chainPem: string; privateKeyPem: string }> {
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify'])
  const certificate = await X509CertificateGenerator.createSelfSigned(
    {
      name: `CN=${host}`,
      keys,
      signingAlgorithm: ALGORITHM,
      notBefore: new Date(Date.now() - DAY_MS),
      notAfter: new Date(Date.now() + DAY_MS),
      extensions: [new SubjectAlternativeNameExtension([{ type: 'dns', value: host }])],
    },
    webcrypto,
  )
  const key = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey))
  const lines = key.toString('base64').replaceAll(/(.{64})/g, '$1\n')
  return {
    chainPem: certificate.toString('pem'),
    privateKeyPem: `-----BEGIN PRIVATE KEY-----\n${lines.trimEnd()}\n-----END PRIVATE KEY-----\n`,
  }
}

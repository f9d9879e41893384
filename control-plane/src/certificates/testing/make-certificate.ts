/** Makes certificates as another authority would have issued them. For tests. */
import 'reflect-metadata'
import { KeyObject, webcrypto } from 'node:crypto'
import {
  BasicConstraintsExtension,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
} from '@peculiar/x509'

/** A chain of a leaf and its root, leaf first. */
export async function makeChain(
  hosts: readonly string[],
  notAfter = new Date(Date.now() + 90 * 86_400_000),
): Promise<{ chainPem: string; rootPem: string; leafPem: string; privateKeyPem: string }> {
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
  const rootKeys = await generate(algorithm)
  const leafKeys = await generate(algorithm)
  const notBefore = new Date(notAfter.getTime() - 365 * 86_400_000)
  const root = await X509CertificateGenerator.createSelfSigned({
    name: 'CN=Test root',
    keys: rootKeys,
    notBefore,
    notAfter,
    signingAlgorithm: algorithm,
    extensions: [new BasicConstraintsExtension(true, undefined, true)],
  })
  const leaf = await X509CertificateGenerator.create({
    subject: 'CN=Test leaf',
    issuer: root.subject,
    publicKey: leafKeys.publicKey,
    signingKey: rootKeys.privateKey,
    notBefore,
    notAfter,
    signingAlgorithm: algorithm,
    extensions: [
      new SubjectAlternativeNameExtension(hosts.map((value) => ({ type: 'dns', value }))),
    ],
  })
  const rootPem = `${root.toString('pem')}\n`
  const leafPem = `${leaf.toString('pem')}\n`
  const key = KeyObject.from(leafKeys.privateKey)
  return {
    chainPem: leafPem + rootPem,
    rootPem,
    leafPem,
    privateKeyPem: key.export({ type: 'pkcs8', format: 'pem' }).toString(),
  }
}

async function generate(algorithm: webcrypto.EcKeyGenParams): Promise<webcrypto.CryptoKeyPair> {
  return (await webcrypto.subtle.generateKey(algorithm, true, [
    'sign',
    'verify',
  ])) as webcrypto.CryptoKeyPair
}

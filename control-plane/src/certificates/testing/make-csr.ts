/** Makes what a machine that wants to join would make: a key and a signing request. For tests. */
import 'reflect-metadata'
import { KeyObject, webcrypto } from 'node:crypto'
import { Pkcs10CertificateRequestGenerator } from '@peculiar/x509'

export interface KeyAndCsr {
  readonly privateKeyPem: string
  readonly csrPem: string
}

export const p256 = { name: 'ECDSA', namedCurve: 'P-256' }

export async function makeCsr(
  algorithm: webcrypto.EcKeyGenParams | webcrypto.RsaHashedKeyGenParams = p256,
): Promise<KeyAndCsr> {
  const keys = (await webcrypto.subtle.generateKey(algorithm, true, [
    'sign',
    'verify',
  ])) as webcrypto.CryptoKeyPair
  const csr = await Pkcs10CertificateRequestGenerator.create({
    name: 'CN=somebody else',
    keys,
    signingAlgorithm: { name: algorithm.name, hash: 'SHA-256' },
  })
  const key = KeyObject.from(keys.privateKey)
  return {
    privateKeyPem: key.export({ type: 'pkcs8', format: 'pem' }).toString(),
    csrPem: csr.toString('pem'),
  }
}

/** Reads the PKCS #10 requests that nodes send. */
import 'reflect-metadata'
import { webcrypto } from 'node:crypto'
import { Pkcs10CertificateRequest, type PublicKey } from '@peculiar/x509'

/** The request cannot be signed; the text is meant for the one who sent it. */
export class SigningRequestError extends Error {
  override readonly name = 'SigningRequestError'
}

export const signingRequestCharactersMax = 8_192

/** The public key of the request, after a check that its sender holds the private key. */
export async function readSigningRequest(csrPem: string): Promise<PublicKey> {
  if (csrPem.length > signingRequestCharactersMax) {
    const reason = `the CSR is longer than ${signingRequestCharactersMax} characters`
    throw new SigningRequestError(reason)
  }
  const request = parse(csrPem)
  const algorithm = request.publicKey.algorithm as { name: string; namedCurve?: string }
  if (algorithm.name !== 'ECDSA' || algorithm.namedCurve !== 'P-256') {
    throw new SigningRequestError('the key of the CSR is not an ECDSA key on the curve P-256')
  }
  if (!(await isSignedByItsKey(request))) {
    throw new SigningRequestError('the signature of the CSR does not fit its key')
  }
  return request.publicKey
}

function parse(csrPem: string): Pkcs10CertificateRequest {
  // The library also takes bare Base64 and hex, which nothing here should depend on.
  if (!csrPem.includes('-----BEGIN CERTIFICATE REQUEST-----')) {
    throw new SigningRequestError('the CSR is not a PEM block of type "CERTIFICATE REQUEST"')
  }
  try {
    return new Pkcs10CertificateRequest(csrPem)
  } catch (cause) {
    throw new SigningRequestError('the CSR cannot be read as PKCS #10', { cause })
  }
}

async function isSignedByItsKey(request: Pkcs10CertificateRequest): Promise<boolean> {
  try {
    return await request.verify(webcrypto as Crypto)
  } catch {
    // A key or signature that WebCrypto refuses to import is no valid signature either.
    return false
  }
}

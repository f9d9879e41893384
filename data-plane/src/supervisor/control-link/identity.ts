/**
 * Who this node is: its id, its private key, its certificate and the CA that it trusts, in one file of the
 * data folder, so that key and certificate always belong together. The key is made here and never leaves.
 */
import { createPrivateKey, webcrypto, X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import Type, { type Static } from 'typebox'
import Value from 'typebox/value'
import { replaceFile } from '../durable-file.ts'
import { codeOf, reasonOf, StartFailure } from '../errors.ts'

const IdentitySchema = Type.Object(
  {
    nodeId: Type.String({ minLength: 1 }),
    privateKeyPem: Type.String({ minLength: 1 }),
    certificatePem: Type.String({ minLength: 1 }),
    caPem: Type.String({ minLength: 1 }),
  },
  { additionalProperties: false },
)

export type Identity = Readonly<Static<typeof IdentitySchema>>

/** A new key and the request for a certificate over it. */
export interface KeyRequest {
  readonly privateKeyPem: string
  readonly csrPem: string
}

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }

export async function makeKeyRequest(): Promise<KeyRequest> {
  // Loaded only for a request, which a node makes once in weeks, since it takes some MiB of memory.
  await import('reflect-metadata')
  const { cryptoProvider, PemConverter, Pkcs10CertificateRequestGenerator } = await import(
    '@peculiar/x509'
  )
  cryptoProvider.set(webcrypto)
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify'])
  const request = await Pkcs10CertificateRequestGenerator.create({
    // The control plane writes the node's id into the certificate whatever stands here.
    name: 'CN=sluice-node',
    keys,
    signingAlgorithm: ALGORITHM,
  })
  const privateKey = await webcrypto.subtle.exportKey('pkcs8', keys.privateKey)
  return {
    privateKeyPem: PemConverter.encode(privateKey, 'PRIVATE KEY'),
    csrPem: request.toString('pem'),
  }
}

/** Why the parts do not belong together; undefined when they do. */
export function identityFault(identity: Identity): string | undefined {
  try {
    const certificate = new X509Certificate(identity.certificatePem)
    const authority = new X509Certificate(identity.caPem)
    if (!certificate.checkPrivateKey(createPrivateKey(identity.privateKeyPem))) {
      return 'the certificate is for another key'
    }
    return certificate.verify(authority.publicKey)
      ? undefined
      : 'the CA has not signed the certificate'
  } catch (error) {
    return reasonOf(error)
  }
}

/** When a new certificate is due: at two thirds of this one's life. */
export function renewalDueAtMs({ certificatePem }: Identity): number {
  const { validFromDate, validToDate } = new X509Certificate(certificatePem)
  const from = validFromDate.getTime()
  return from + ((validToDate.getTime() - from) * 2) / 3
}

/** When it ended; undefined while the certificate is valid. */
export function expiredAt({ certificatePem }: Identity, nowMs: number): Date | undefined {
  const { validToDate } = new X509Certificate(certificatePem)
  return validToDate.getTime() <= nowMs ? validToDate : undefined
}

export class IdentityFile {
  readonly #path: string

  constructor(dataFolder: string) {
    this.#path = join(dataFolder, 'identity.json')
  }

  /** Undefined while the node has not joined. */
  async load(): Promise<Identity | undefined> {
    let text: string
    try {
      text = await readFile(this.#path, 'utf8')
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return undefined
      throw new StartFailure(`the identity cannot be read: ${reasonOf(error)}`)
    }
    return this.#parse(text)
  }

  async save(identity: Identity): Promise<void> {
    await replaceFile(this.#path, `${JSON.stringify(identity, undefined, 2)}\n`)
  }

  #parse(text: string): Identity {
    const advice = 'remove it and join with a new token'
    let content: unknown
    try {
      content = JSON.parse(text)
    } catch {
      // The parser's message would quote the file, which holds a key.
      throw new StartFailure(`${this.#path} is damaged; ${advice}`)
    }
    if (!Value.Check(IdentitySchema, content)) {
      throw new StartFailure(`${this.#path} is not an identity of this format; ${advice}`)
    }
    const fault = identityFault(content)
    if (fault !== undefined) throw new StartFailure(`${this.#path}: ${fault}; ${advice}`)
    return Object.freeze(content)
  }
}

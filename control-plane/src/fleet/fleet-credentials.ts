/** TLS of the fleet port: clients are asked for a certificate, and each call judges what came. */
import type { SecureContextOptions } from 'node:tls'
import { ServerCredentials } from '@grpc/grpc-js'
import type { IssuedIdentity } from '../certificates/authority.ts'

export class FleetCredentials extends ServerCredentials {
  readonly #caPem: string

  constructor(caPem: string, identity: IssuedIdentity, handshakeMs: number) {
    super(
      // Enrolment comes without a certificate, so the handshake must let it pass.
      { requestCert: true, rejectUnauthorized: false, handshakeTimeout: handshakeMs },
      toContext(caPem, identity),
    )
    this.#caPem = caPem
  }

  /** Takes effect for connections from now on. */
  replaceIdentity(identity: IssuedIdentity): void {
    this.updateSecureContextOptions(toContext(this.#caPem, identity))
  }

  override _equals(other: ServerCredentials): boolean {
    return this === other
  }
}

function toContext(caPem: string, identity: IssuedIdentity): SecureContextOptions {
  return {
    ca: caPem,
    cert: identity.chainPem,
    key: identity.privateKeyPem,
    minVersion: 'TLSv1.3',
  }
}

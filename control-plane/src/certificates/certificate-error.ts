/** Why a chain or a key that an operator gave cannot be used. */
export class CertificateError extends Error {
  readonly field: 'chainPem' | 'privateKeyPem'
  readonly reason: string

  constructor(field: 'chainPem' | 'privateKeyPem', reason: string, options?: ErrorOptions) {
    super(`${field}: ${reason}`, options)
    this.name = 'CertificateError'
    this.field = field
    this.reason = reason
  }
}

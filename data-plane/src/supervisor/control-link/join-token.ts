/** `sluice-join.<secret>.<SHA-256 of the CA certificate>`, both base64url. */

export interface JoinToken {
  /** The whole text, as the control plane takes it. */
  readonly text: string
  /** Of the CA certificate's DER. */
  readonly caSha256: Buffer
}

const FORM = /^sluice-join\.[A-Za-z0-9_-]{43}\.([A-Za-z0-9_-]{43})$/

export function parseJoinToken(text: string): JoinToken | undefined {
  const fingerprint = FORM.exec(text)?.[1]
  if (fingerprint === undefined) return undefined
  return { text, caSha256: Buffer.from(fingerprint, 'base64url') }
}

/**
 * Seals secrets for the database: AES-256-GCM under the master key. The context (what the secret is and
 * whose) is authenticated with it, so a sealed value that was copied to another row does not open there.
 */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'

const cipher = 'aes-256-gcm'
const formatVersion = 1
const nonceBytes = 12
const tagBytes = 16
const headBytes = 1 + nonceBytes + tagBytes

export const masterKeyBytes = 32

/** The value was sealed under another master key or for another context, or it is damaged. */
export class VaultError extends Error {
  override readonly name = 'VaultError'
  readonly context: string

  constructor(context: string, cause?: unknown) {
    super(`${context} cannot be unsealed: another master key sealed it, or it is damaged`, {
      cause,
    })
    this.context = context
  }
}

export class Vault {
  readonly #key: Uint8Array

  constructor(key: Uint8Array) {
    if (key.length !== masterKeyBytes) {
      throw new RangeError(`a master key has ${masterKeyBytes} bytes, not ${key.length}`)
    }
    this.#key = Uint8Array.from(key)
  }

  /** Format byte, nonce, tag, then the encrypted bytes. */
  seal(plain: Uint8Array, context: string): Uint8Array {
    const nonce = randomBytes(nonceBytes)
    const sealing = createCipheriv(cipher, this.#key, nonce, { authTagLength: tagBytes })
    sealing.setAAD(Buffer.from(context))
    const sealed = Buffer.concat([sealing.update(plain), sealing.final()])
    return Buffer.concat([Buffer.of(formatVersion), nonce, sealing.getAuthTag(), sealed])
  }

  open(sealed: Uint8Array, context: string): Uint8Array {
    if (sealed.length < headBytes || sealed[0] !== formatVersion) throw new VaultError(context)
    const nonce = sealed.subarray(1, 1 + nonceBytes)
    const opening = createDecipheriv(cipher, this.#key, nonce, { authTagLength: tagBytes })
    opening.setAAD(Buffer.from(context))
    opening.setAuthTag(sealed.subarray(1 + nonceBytes, headBytes))
    try {
      return Buffer.concat([opening.update(sealed.subarray(headBytes)), opening.final()])
    } catch (error) {
      throw new VaultError(context, error)
    }
  }
}

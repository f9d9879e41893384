/**
 * Seals secrets for the database: AES-256-GCM under the master key. The context (what the secret is and
 * whose) is authenticated with it, so a sealed value that was copied to another row does not open there. A sealed
 * value names its key, so that values of two keys can stand beside each other while one takes the other's place.
 */
import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto'

const cipher = 'aes-256-gcm'
/** 1: without the key's id. */
const formatVersion = 2
const keyIdBytes = 4
const nonceBytes = 12
const tagBytes = 16

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
  /** By id; the last one seals. */
  readonly #keys = new Map<string, Uint8Array>()
  #keyId = ''

  /** `before`: keys that it opens with as well. */
  constructor(key: Uint8Array, before: readonly Uint8Array[] = []) {
    for (const one of [...before, key]) this.adopt(one)
  }

  /** Of the key that it seals with: the first 4 bytes of the key's SHA-256, hex. */
  get keyId(): string {
    return this.#keyId
  }

  /** Seals with this key from now on, and opens what others before it sealed. */
  adopt(key: Uint8Array): void {
    if (key.length !== masterKeyBytes) {
      throw new RangeError(`a master key has ${masterKeyBytes} bytes, not ${key.length}`)
    }
    this.#keyId = createHash('sha256')
      .update(key)
      .digest('hex')
      .slice(0, 2 * keyIdBytes)
    this.#keys.set(this.#keyId, Uint8Array.from(key))
  }

  /** Format byte, the key's id, nonce, tag, then the encrypted bytes. */
  seal(plain: Uint8Array, context: string): Uint8Array {
    const key = this.#keys.get(this.#keyId)
    if (key === undefined) throw new Error('the vault has no key')
    const nonce = randomBytes(nonceBytes)
    const sealing = createCipheriv(cipher, key, nonce, { authTagLength: tagBytes })
    sealing.setAAD(Buffer.from(context))
    const sealed = Buffer.concat([sealing.update(plain), sealing.final()])
    const head = [Buffer.of(formatVersion), Buffer.from(this.#keyId, 'hex'), nonce]
    return Buffer.concat([...head, sealing.getAuthTag(), sealed])
  }

  open(sealed: Uint8Array, context: string): Uint8Array {
    if (sealed[0] === formatVersion) {
      const key = this.#keys.get(keyIdOf(sealed))
      if (key === undefined) throw new VaultError(context)
      return openWith(key, sealed.subarray(1 + keyIdBytes), context)
    }
    if (sealed[0] !== 1) throw new VaultError(context)
    for (const key of this.#keys.values()) {
      try {
        return openWith(key, sealed.subarray(1), context)
      } catch (error) {
        if (!(error instanceof VaultError)) throw error
      }
    }
    throw new VaultError(context)
  }

  /** The value sealed by the newest key; undefined: it is. */
  reseal(sealed: Uint8Array, context: string): Uint8Array | undefined {
    const isCurrent = sealed[0] === formatVersion && keyIdOf(sealed) === this.#keyId
    return isCurrent ? undefined : this.seal(this.open(sealed, context), context)
  }
}

function keyIdOf(sealed: Uint8Array): string {
  return Buffer.from(sealed.subarray(1, 1 + keyIdBytes)).toString('hex')
}

/** `sealed`: from the nonce on. */
function openWith(key: Uint8Array, sealed: Uint8Array, context: string): Uint8Array {
  if (sealed.length < nonceBytes + tagBytes) throw new VaultError(context)
  const nonce = sealed.subarray(0, nonceBytes)
  const opening = createDecipheriv(cipher, key, nonce, { authTagLength: tagBytes })
  opening.setAAD(Buffer.from(context))
  opening.setAuthTag(sealed.subarray(nonceBytes, nonceBytes + tagBytes))
  try {
    return Buffer.concat([opening.update(sealed.subarray(nonceBytes + tagBytes)), opening.final()])
  } catch (error) {
    throw new VaultError(context, error)
  }
}

/** Seals secrets under a passphrase, for files that leave the control plane: scrypt, then AES-256-GCM. */
import { randomBytes, scrypt } from 'node:crypto'
import { masterKeyBytes, Vault, VaultError } from '../store/vault.ts'

/** OWASP's choice for machines with little memory; 32 MiB for some 0.3 s. */
const cost = Object.freeze({ N: 2 ** 15, r: 8, p: 3, maxmem: 64 * 1_048_576 })
const saltBytes = 16

export class SecretBox {
  readonly salt: string
  readonly #vault: Vault

  private constructor(salt: string, key: Uint8Array) {
    this.salt = salt
    this.#vault = new Vault(key)
  }

  static create(passphrase: string): Promise<SecretBox> {
    return SecretBox.open(passphrase, randomBytes(saltBytes).toString('base64'))
  }

  /** `salt`: of the box that sealed. A wrong passphrase shows only when something is unsealed. */
  static open(passphrase: string, salt: string): Promise<SecretBox> {
    const { promise, resolve, reject } = Promise.withResolvers<SecretBox>()
    scrypt(
      passphrase.normalize('NFC'),
      Buffer.from(salt, 'base64'),
      masterKeyBytes,
      cost,
      (error, key) => (error === null ? resolve(new SecretBox(salt, key)) : reject(error)),
    )
    return promise
  }

  seal(text: string, context: string): string {
    return Buffer.from(this.#vault.seal(Buffer.from(text), context)).toString('base64')
  }

  /** undefined: sealed under another passphrase or for something else, or damaged. */
  unseal(sealed: string, context: string): string | undefined {
    try {
      return Buffer.from(this.#vault.open(Buffer.from(sealed, 'base64'), context)).toString()
    } catch (error) {
      if (error instanceof VaultError) return undefined
      throw error
    }
  }
}

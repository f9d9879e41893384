/**
 * The sites' private keys in memory, and the way to and from their sealed rows. The only holder of keys in
 * the clear apart from the encoded resources of the newest version.
 */
import type { Database } from '../store/database.ts'
import {
  insertPrivateKeys,
  listPrivateKeys,
  removeUnusedPrivateKeys,
} from '../store/private-keys.ts'
import { sealContexts } from '../store/seal-contexts.ts'
import type { Vault } from '../store/vault.ts'

export interface PrivateKey {
  /** SHA-256 of the public key's SPKI, hex. */
  readonly id: string
  /** PKCS #8. */
  readonly pem: string
}

export class KeyRing {
  readonly #vault: Vault
  readonly #pems: Map<string, string>

  private constructor(vault: Vault, pems: Map<string, string>) {
    this.#vault = vault
    this.#pems = pems
  }

  /** Unseals every stored key; throws VaultError when the master key is another one. */
  static async open(db: Database, vault: Vault): Promise<KeyRing> {
    const rows = await listPrivateKeys(db)
    const pems = rows.map(({ public_key_id: id, sealed }): [string, string] => {
      return [id, Buffer.from(vault.open(sealed, sealContexts.privateKey(id))).toString('utf8')]
    })
    return new KeyRing(vault, new Map(pems))
  }

  find(id: string): string | undefined {
    return this.#pems.get(id)
  }

  /** Writes the sealed keys within the transaction of a publish. */
  async store(db: Database, keys: readonly PrivateKey[], nowMs: number): Promise<void> {
    const rows = keys.map(({ id, pem }) => ({
      public_key_id: id,
      sealed: this.#vault.seal(Buffer.from(pem), sealContexts.privateKey(id)),
      created_at_ms: nowMs,
    }))
    await insertPrivateKeys(db, rows)
  }

  /** Removes the keys that no version and no draft refers to. */
  async forgetUnused(db: Database): Promise<void> {
    for (const id of await removeUnusedPrivateKeys(db)) this.#pems.delete(id)
  }

  /** Takes keys in whose rows are committed. */
  remember(keys: readonly PrivateKey[]): void {
    for (const { id, pem } of keys) if (!this.#pems.has(id)) this.#pems.set(id, pem)
  }
}

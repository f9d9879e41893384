/**
 * The key that seals secrets: from the environment, a command, a file, or the data directory's own. One that is in
 * a file can be replaced while the control plane runs. The next key is on the disk before anything is sealed with
 * it, and takes the name of the one before once nothing needs that any more, so a rotation that is cut off is
 * finished at the next start.
 */
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import type { Rotation } from './admin-api/parts.ts'
import { readOrCreate, readText } from './data-directory.ts'
import { codeOf, explain, StartError } from './errors.ts'
import type { Database } from './store/database.ts'
import { resealRows } from './store/sealed-rows.ts'
import { masterKeyBytes, Vault } from './store/vault.ts'

const run = promisify(execFile)
const secretMode = 0o600
const commandMs = 10_000
const commandBytesMax = 4_096

export interface MasterKeySettings {
  /** Base64, as the next one. */
  readonly masterKey: string | undefined
  /** What sealed the data until now, where another one is given. */
  readonly masterKeyBefore: string | undefined
  readonly masterKeyFile: string | undefined
  /** Run by the shell; it prints the key. */
  readonly masterKeyCommand: string | undefined
}

export class MasterKey {
  readonly vault: Vault
  /** Undefined: it is not ours to write. */
  readonly #file: string | undefined
  /** Some rows may be sealed by the key before. */
  readonly #isUnfinished: boolean
  #running: Promise<Rotation> | undefined

  private constructor(vault: Vault, file: string | undefined, isUnfinished: boolean) {
    this.vault = vault
    this.#file = file
    this.#isUnfinished = isUnfinished
  }

  /** `ownFile`: that of the data directory, made when there is none and nothing else is given. */
  static async open(settings: MasterKeySettings, ownFile: string): Promise<MasterKey> {
    const given = await givenKey(settings)
    if (given !== undefined) {
      const { masterKeyBefore: text } = settings
      const before = text === undefined ? [] : [decode(text, 'SLUICE_MASTER_KEY_BEFORE')]
      return new MasterKey(new Vault(given, before), undefined, before.length > 0)
    }
    const file = settings.masterKeyFile ?? ownFile
    const isOwn = settings.masterKeyFile === undefined
    const key = decode(await (isOwn ? readOrCreate(file, encodedKey) : readText(file)), file)
    const next = await nextText(file)
    if (next === undefined) return new MasterKey(new Vault(key), file, false)
    return new MasterKey(new Vault(decode(next, nextOf(file)), [key]), file, true)
  }

  /** What is left of a rotation that was cut off, or that the key before was given for. */
  async finish(db: Database): Promise<void> {
    if (!this.#isUnfinished) return
    await this.#reseal(db)
    if (this.#file !== undefined) await rename(nextOf(this.#file), this.#file)
  }

  /**
   * Makes a new key and seals everything with it. Who asks meanwhile gets the same answer. Undefined: the key comes
   * from the environment or a command, where we cannot put another one.
   */
  async rotate(db: Database): Promise<Rotation | undefined> {
    if (this.#file === undefined) return undefined
    this.#running ??= this.#rotate(db, this.#file).finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  async #rotate(db: Database, file: string): Promise<Rotation> {
    const text = (await nextText(file)) ?? encodedKey()
    await writeWhole(nextOf(file), `${text.trim()}\n`)
    const previousKeyId = this.vault.keyId
    // What is sealed from here on names the new key, and a write that waits already is before us in the queue.
    this.vault.adopt(decode(text, nextOf(file)))
    const resealed = await this.#reseal(db)
    await rename(nextOf(file), file)
    return { keyId: this.vault.keyId, previousKeyId, resealed }
  }

  #reseal(db: Database): Promise<number> {
    return resealRows(db, (sealed, context) => this.vault.reseal(sealed, context))
  }
}

async function givenKey(settings: MasterKeySettings): Promise<Uint8Array | undefined> {
  const { masterKey, masterKeyCommand } = settings
  if (masterKey !== undefined) return decode(masterKey, 'SLUICE_MASTER_KEY')
  if (masterKeyCommand === undefined) return undefined
  return decode(await outputOf(masterKeyCommand), 'the output of --master-key-command')
}

async function outputOf(command: string): Promise<string> {
  try {
    const { stdout } = await run('/bin/sh', ['-c', command], {
      timeout: commandMs,
      maxBuffer: commandBytesMax,
    })
    return stdout
  } catch (error) {
    // Neither its output nor its errors: a key may be in them.
    const { code, killed } = error as { code?: unknown; killed?: boolean }
    const how =
      killed === true ? `it ran longer than ${commandMs / 1_000} s` : `it ended with ${code}`
    throw new StartError(`--master-key-command gave no key: ${how}`)
  }
}

/** There whole or not at all, and for its owner alone. */
async function writeWhole(file: string, text: string): Promise<void> {
  const beside = `${file}.tmp`
  await rm(beside, { force: true })
  await writeFile(beside, text, { flag: 'wx', mode: secretMode, flush: true })
  await rename(beside, file)
}

function nextOf(file: string): string {
  return `${file}.next`
}

async function nextText(file: string): Promise<string | undefined> {
  try {
    return await readFile(nextOf(file), 'utf8')
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw explain(error, `${nextOf(file)} cannot be read`)
  }
}

function encodedKey(): string {
  return randomBytes(masterKeyBytes).toString('base64')
}

function decode(text: string, origin: string): Uint8Array {
  const key = Buffer.from(text.trim(), 'base64')
  // Decoding skips what is not base64, so what it made is compared with what it got.
  const isWhole = key.toString('base64').replace(/=+$/, '') === text.trim().replace(/=+$/, '')
  if (isWhole && key.length === masterKeyBytes) return key
  throw new StartError(`${origin} does not hold a master key (base64 of ${masterKeyBytes} bytes)`)
}

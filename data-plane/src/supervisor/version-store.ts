/**
 * The last applied version and the one before it, on disk. They hold private keys, so they are sealed with
 * AES-256-GCM under a random key of this data folder; the GCM tag is also the checksum. A new version is
 * written beside the old one and renamed, and the old one stays as `previous`.
 */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { link, mkdir, readdir, readFile, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Update } from '@sluice/proto'
import type { Logger } from 'pino'
import { replaceFile, syncFolder, writeBeside } from './durable-file.ts'
import { codeOf, reasonOf, StartFailure } from './errors.ts'
import { ResourceSet } from './resource-set.ts'
import { encodeWhole } from './snapshot-encoding.ts'

export interface StoredVersion {
  readonly version: bigint
  readonly hash: string
  readonly resources: ResourceSet
  readonly appliedAtMs: number
}

const FORMAT = Buffer.from('sluice-version-1\n')
const NONCE_BYTES = 12
const TAG_BYTES = 16
const KEY_BYTES = 32
const TIME_BYTES = 8

export class VersionStore {
  readonly #folder: string
  readonly #key: Uint8Array
  readonly #logger: Logger
  #currentHash = ''

  private constructor(folder: string, key: Uint8Array, logger: Logger) {
    this.#folder = folder
    this.#key = key
    this.#logger = logger
  }

  static async open(dataFolder: string, logger: Logger): Promise<VersionStore> {
    const folder = join(dataFolder, 'versions')
    await mkdir(folder, { recursive: true, mode: 0o700 })
    await removeLeftovers(folder)
    const key = await readOrMakeKey(join(dataFolder, 'version-key'))
    return new VersionStore(folder, key, logger)
  }

  /** The copies that can be read, newest first. One that cannot be read is named in the log. */
  async load(): Promise<StoredVersion[]> {
    const found: StoredVersion[] = []
    for (const name of ['current', 'previous']) {
      const version = await this.#read(name)
      if (version === undefined) continue
      if (name === 'current') this.#currentHash = `${version.version}/${version.hash}`
      found.push(version)
    }
    return found
  }

  async save(version: StoredVersion): Promise<void> {
    const identity = `${version.version}/${version.hash}`
    if (identity === this.#currentHash) return
    const current = this.#path('current')
    const written = await writeBeside(current, this.#seal(encode(version)))
    try {
      await this.#keepAsPrevious(current)
      await rename(written, current)
    } catch (error) {
      // On a disk without room each try would leave one more.
      await rm(written, { force: true })
      throw error
    }
    await syncFolder(this.#folder)
    this.#currentHash = identity
  }

  /** By a second name for the same file, so that `current` exists at every moment. */
  async #keepAsPrevious(current: string): Promise<void> {
    const beside = this.#path(`previous.${randomBytes(6).toString('hex')}.tmp`)
    try {
      await link(current, beside)
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return
      throw error
    }
    await rename(beside, this.#path('previous'))
  }

  async #read(name: string): Promise<StoredVersion | undefined> {
    try {
      return decode(this.#unseal(await readFile(this.#path(name))))
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return undefined
      const reason = reasonOf(error)
      this.#logger.warn({ file: this.#path(name), reason }, 'a stored version cannot be read')
      // Out of the way, so that the next save does not keep it in place of a good previous version.
      await rename(this.#path(name), this.#path(`${name}.unreadable`))
      return undefined
    }
  }

  /** In pieces: with many resources, each copy of the whole would have V8 collect all that it has. */
  #seal(content: readonly Uint8Array[]): Uint8Array[] {
    const nonce = randomBytes(NONCE_BYTES)
    const cipher = createCipheriv('aes-256-gcm', this.#key, nonce).setAAD(FORMAT)
    const sealed = content.map((piece) => cipher.update(piece))
    sealed.push(cipher.final())
    return [FORMAT, nonce, cipher.getAuthTag(), ...sealed]
  }

  #unseal(file: Buffer): Buffer {
    const nonceAt = FORMAT.length
    const tagAt = nonceAt + NONCE_BYTES
    const contentAt = tagAt + TAG_BYTES
    if (file.length < contentAt || !file.subarray(0, nonceAt).equals(FORMAT)) {
      throw new Error('it is not a stored version of this format')
    }
    const nonce = file.subarray(nonceAt, tagAt)
    const decipher = createDecipheriv('aes-256-gcm', this.#key, nonce, { authTagLength: TAG_BYTES })
    decipher.setAAD(FORMAT).setAuthTag(file.subarray(tagAt, contentAt))
    return Buffer.concat([decipher.update(file.subarray(contentAt)), decipher.final()])
  }

  #path(name: string): string {
    return join(this.#folder, name)
  }
}

/** A time, and a sluice.v1 Update. */
function encode(version: StoredVersion): Uint8Array[] {
  const appliedAt = Buffer.alloc(TIME_BYTES)
  appliedAt.writeBigUInt64BE(BigInt(version.appliedAtMs))
  return [appliedAt, encodeWhole(version, version.resources.resources())]
}

function decode(content: Buffer): StoredVersion {
  const update = Update.decode(content.subarray(TIME_BYTES))
  if (update.content?.$case !== 'full') throw new Error('it holds no whole version')
  const resources = ResourceSet.fromSnapshot(update.content.value)
  if (resources.hash() !== update.hash) throw new Error('its content does not fit its hash')
  const appliedAtMs = Number(content.readBigUInt64BE(0))
  return { version: update.version, hash: update.hash, resources, appliedAtMs }
}

async function readOrMakeKey(path: string): Promise<Uint8Array> {
  try {
    const key = await readFile(path)
    if (key.length === KEY_BYTES) return key
    throw new StartFailure(`${path} is not a key of ${KEY_BYTES} bytes; remove it to start afresh`)
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error
  }
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  const key = randomBytes(KEY_BYTES)
  await replaceFile(path, key)
  return key
}

/** What a write left that was cut off by the end of the process. */
async function removeLeftovers(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    if (name.endsWith('.tmp')) await rm(join(folder, name), { force: true })
  }
}

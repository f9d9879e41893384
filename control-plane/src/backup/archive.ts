/**
 * The file of a backup: a tar (POSIX.1-2017, pax) of the manifest and the files it lists, in an age file
 * (https://age-encryption.org/v1) when a passphrase is given. Both formats have tools of their own, so that a
 * backup can be opened without this program. Nothing is held in memory as a whole.
 */
import { createHash, type Hash } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { open, stat } from 'node:fs/promises'
import { Readable, Transform } from 'node:stream'
import { text } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import type { ReadableStream } from 'node:stream/web'
import { Decrypter, Encrypter } from 'age-encryption'
import { extract, pack } from 'tar-stream'
import { type Static, Type } from 'typebox'
import { Value } from 'typebox/value'
import { explain, StartError } from '../errors.ts'

const MANIFEST = 'manifest.json'
const manifestBytesMax = 65_536
const ageIntro = 'age-encryption.org/v1'
/** scrypt with N = 2^16: 64 MiB for some 0.3 s. */
const workFactor = 16
const secretMode = 0o600

export const FILES = ['sluice.db', 'telemetry.db', 'master-key', 'admin-token'] as const
export type FileName = (typeof FILES)[number]

const ManifestShape = Type.Object({
  format: Type.Literal('sluice-backup-1'),
  madeAt: Type.String({ maxLength: 40 }),
  softwareVersion: Type.String({ maxLength: 100 }),
  /** The newest version that was published, 0 for none, and its hash. */
  version: Type.Integer({ minimum: 0 }),
  hash: Type.String({ maxLength: 64 }),
  files: Type.Array(
    Type.Object({
      name: Type.Enum(FILES),
      bytes: Type.Integer({ minimum: 0 }),
      sha256: Type.String({ pattern: '^[0-9a-f]{64}$' }),
    }),
    { maxItems: FILES.length },
  ),
})
export type Manifest = Static<typeof ManifestShape>

/** Where each file of the archive is. */
export type Sources = ReadonlyMap<FileName, string>

export async function hashOf(path: string): Promise<{ bytes: number; sha256: string }> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(path), hash)
  return { bytes: (await stat(path)).size, sha256: hash.digest('hex') }
}

/** The file must not exist yet; it is on the disk when this returns. */
export async function writeArchive(
  file: string,
  manifest: Manifest,
  sources: Sources,
  passphrase: string | undefined,
): Promise<void> {
  const tar = pack()
  const filling = fill(tar, manifest, sources).catch((error: unknown) =>
    tar.destroy(asError(error)),
  )
  const plain = Readable.from(tar)
  const content = passphrase === undefined ? plain : await encrypted(plain, passphrase)
  await pipeline(content, createWriteStream(file, { flags: 'wx', mode: secretMode, flush: true }))
  await filling
}

async function fill(tar: ReturnType<typeof pack>, manifest: Manifest, sources: Sources) {
  const json = `${JSON.stringify(manifest, undefined, 2)}\n`
  tar.entry({ name: MANIFEST, mode: secretMode }, json)
  for (const { name, bytes } of manifest.files) {
    const source = sources.get(name)
    if (source === undefined) throw new Error(`${name} has no source`)
    const entry = tar.entry({ name, size: bytes, mode: secretMode })
    await pipeline(createReadStream(source), entry)
  }
  tar.finalize()
}

async function encrypted(plain: Readable, passphrase: string): Promise<Readable> {
  const encrypter = new Encrypter()
  encrypter.setScryptWorkFactor(workFactor)
  encrypter.setPassphrase(passphrase.normalize('NFC'))
  return Readable.fromWeb((await encrypter.encrypt(asWeb(plain))) as ReadableStream)
}

/**
 * Puts the files where `target` says and checks each against the manifest. Throws a StartError that says what
 * is wrong with the archive; what was written until then is the caller's to remove.
 */
export async function readArchive(
  file: string,
  passphrase: string | undefined,
  target: (name: FileName) => string,
): Promise<Manifest> {
  const content = await plainContent(file, passphrase)
  const tar = extract()
  const feeding = pipeline(content, tar)
  const reading = readEntries(tar, target)
  try {
    const [, manifest] = await Promise.all([feeding, reading])
    return manifest
  } catch (error) {
    tar.destroy()
    await Promise.allSettled([feeding, reading])
    throw error instanceof StartError ? error : broken(file, asError(error).message)
  }
}

async function readEntries(
  tar: ReturnType<typeof extract>,
  target: (name: FileName) => string,
): Promise<Manifest> {
  let manifest: Manifest | undefined
  const missing = new Map<string, Manifest['files'][number]>()
  for await (const entry of tar) {
    const { name, size = 0 } = entry.header
    if (manifest === undefined) {
      if (name !== MANIFEST || size > manifestBytesMax) throw new Error('it has no manifest')
      manifest = parseManifest(await text(entry))
      for (const one of manifest.files) missing.set(one.name, one)
      continue
    }
    const expected = missing.get(name)
    if (expected === undefined) throw new Error(`its manifest does not list ${name}`)
    missing.delete(name)
    const hash = createHash('sha256')
    const out = createWriteStream(target(expected.name), {
      flags: 'wx',
      mode: secretMode,
      flush: true,
    })
    await pipeline(entry, passing(hash), out)
    if (hash.digest('hex') !== expected.sha256) throw new Error(`${name} differs from its SHA-256`)
  }
  if (manifest === undefined) throw new Error('it is empty')
  const [lost] = missing.keys()
  if (lost !== undefined) throw new Error(`${lost} is missing`)
  return manifest
}

function parseManifest(json: string): Manifest {
  const content: unknown = JSON.parse(json)
  if (!Value.Check(ManifestShape, content)) throw new Error('its manifest is of another format')
  return content
}

async function plainContent(file: string, passphrase: string | undefined): Promise<Readable> {
  const isEncrypted = await beginsWith(file, ageIntro)
  const content = createReadStream(file)
  if (!isEncrypted) return content
  if (passphrase === undefined) {
    content.destroy()
    throw new StartError(`${file} is encrypted: give its passphrase with --passphrase-file`)
  }
  const decrypter = new Decrypter()
  decrypter.addPassphrase(passphrase.normalize('NFC'))
  try {
    return Readable.fromWeb((await decrypter.decrypt(asWeb(content))) as ReadableStream)
  } catch (error) {
    content.destroy()
    throw new StartError(
      `${file} cannot be decrypted: the passphrase is another one, or it is damaged`,
      {
        cause: error,
      },
    )
  }
}

async function beginsWith(file: string, intro: string): Promise<boolean> {
  try {
    await using handle = await open(file)
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(intro.length), 0, intro.length, 0)
    return buffer.toString('latin1', 0, bytesRead) === intro
  } catch (error) {
    throw explain(error, `${file} cannot be read`)
  }
}

function passing(hash: Hash): Transform {
  return new Transform({
    transform(bytes: Buffer, _encoding, done) {
      hash.update(bytes)
      done(null, bytes)
    },
  })
}

// age's types name the DOM's streams, which are Node's.
function asWeb(stream: Readable): globalThis.ReadableStream<Uint8Array> {
  return Readable.toWeb(stream) as unknown as globalThis.ReadableStream<Uint8Array>
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error))
}

function broken(file: string, why: string): StartError {
  return new StartError(`${file} is not a whole backup: ${why}`)
}

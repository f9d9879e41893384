/** Brings a backup into an empty place, or checks that it could be: nothing is half restored. */
import { mkdir, readdir, rename, rm, rmdir } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { codeOf, explain, StartError } from '../errors.ts'
import { assertWhole } from '../store/database-files.ts'
import { type Manifest, readArchive } from './archive.ts'
import { inTemporaryFolder } from './back-up.ts'

const directoryMode = 0o700

/** Reads all of it, checks every hash and both databases, and leaves nothing behind. */
export function verify(file: string, passphrase: string | undefined): Promise<Manifest> {
  return inTemporaryFolder((folder) => unpack(file, passphrase, folder))
}

/** `dataDir` must be missing or empty. It appears whole, or not at all. */
export async function restore(
  file: string,
  dataDir: string,
  passphrase: string | undefined,
): Promise<Manifest> {
  const target = resolve(dataDir)
  await assertEmpty(target)
  const partial = `${target}.restoring`
  try {
    await mkdir(dirname(target), { recursive: true, mode: directoryMode })
    await mkdir(partial, { mode: directoryMode })
  } catch (error) {
    throw explain(error, `${partial} cannot be made`)
  }
  try {
    const manifest = await unpack(file, passphrase, partial)
    await rmdir(target).catch((error: unknown) => {
      if (codeOf(error) !== 'ENOENT') throw error
    })
    await rename(partial, target)
    return manifest
  } catch (error) {
    await rm(partial, { recursive: true, force: true })
    throw explain(error, `${dataDir} cannot be written`)
  }
}

async function unpack(
  file: string,
  passphrase: string | undefined,
  folder: string,
): Promise<Manifest> {
  const manifest = await readArchive(file, passphrase, (name) => join(folder, name))
  for (const { name } of manifest.files) if (name.endsWith('.db')) assertWhole(join(folder, name))
  return manifest
}

async function assertEmpty(directory: string): Promise<void> {
  let names: string[]
  try {
    names = await readdir(directory)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return
    throw explain(error, `${directory} cannot be read`)
  }
  const [first] = names
  if (first !== undefined) {
    throw new StartError(`${directory} is not empty (${first}): restore into a new directory`)
  }
}

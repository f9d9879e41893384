/** Files that are whole or absent: written beside their place, flushed, then renamed into it. */
import { randomBytes } from 'node:crypto'
import { open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'

/** Replaces the file, readable by its owner only, and returns once it would survive a power cut. */
export async function replaceFile(path: string, content: Uint8Array | string): Promise<void> {
  const written = await writeBeside(path, content)
  await rename(written, path)
  await syncFolder(dirname(path))
}

/** Writes and flushes a new file in the same folder, for the caller to rename. */
export async function writeBeside(
  path: string,
  content: Uint8Array | string | Iterable<Uint8Array>,
): Promise<string> {
  const beside = `${path}.${randomBytes(6).toString('hex')}.tmp`
  const file = await open(beside, 'wx', 0o600)
  try {
    await file.writeFile(content)
    await file.sync()
  } catch (error) {
    await file.close()
    await rm(beside, { force: true })
    throw error
  }
  await file.close()
  return beside
}

/** A rename is on disk once its folder is. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

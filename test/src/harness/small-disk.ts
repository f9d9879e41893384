/** A disk of a few MiB that a test fills and empties. */
import { execFileSync } from 'node:child_process'
import { closeSync, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { Scope } from './scope.ts'

export const canMount = process.platform === 'linux' && process.getuid?.() === 0
export const whyNoDisk = canMount ? '' : ' (skipped: mounting a small disk needs root on Linux)'

/** A folder with so much room. */
export async function smallDisk(scope: Scope, mebibytes: number): Promise<string> {
  const folder = await scope.temporaryDirectory()
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${mebibytes}m`, 'sluice-test', folder])
  scope.defer(() => execFileSync('umount', ['--lazy', folder]))
  return folder
}

/** Takes all that is left, also once more; returns the function that gives it back. */
export function fill(folder: string): () => void {
  const file = join(folder, 'ballast')
  const handle = openSync(file, 'a')
  try {
    for (let size = 1 << 20; size >= 1; size = size >> 1) writeAll(handle, Buffer.alloc(size))
  } finally {
    closeSync(handle)
  }
  return () => rmSync(file)
}

function writeAll(handle: number, bytes: Buffer): void {
  try {
    while (writeSync(handle, bytes) === bytes.length);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
  }
}

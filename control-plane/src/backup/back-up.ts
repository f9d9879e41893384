/**
 * Backs a data directory up while a control plane runs on it: SQLite's online backup copies a state of each
 * database that was whole at one moment (https://www.sqlite.org/backup.html), however much is written meanwhile.
 */
import { access, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import { codeOf, explain, StartError } from '../errors.ts'
import { copyDatabase, newestVersionOf } from '../store/database-files.ts'
import { type FileName, hashOf, type Manifest, type Sources, writeArchive } from './archive.ts'

export interface BackUpOptions {
  readonly dataDir: string
  readonly file: string
  readonly softwareVersion: string
  readonly nowMs: number
  readonly passphrase: string | undefined
  /** Also the master key and the admin token; only with a passphrase. */
  readonly withSecrets: boolean
  readonly withTelemetry: boolean
}

export async function backUp(options: BackUpOptions): Promise<Manifest> {
  const { file, softwareVersion, nowMs, passphrase } = options
  if (options.withSecrets && passphrase === undefined) {
    throw new StartError(
      '--with-secrets needs --passphrase-file: the file would open all that is sealed',
    )
  }
  if (await exists(file)) throw new StartError(`${file} exists already`)
  const folder = await mkdtemp(join(dirname(resolve(file)), `.${basename(file)}-`)).catch(
    (error: unknown) => {
      throw explain(error, `${file} cannot be written`)
    },
  )
  try {
    const sources = await copyAll(options, folder)
    const files = await Promise.all(
      [...sources].map(async ([name, path]) => ({ name, ...(await hashOf(path)) })),
    )
    const manifest: Manifest = {
      format: 'sluice-backup-1',
      madeAt: new Date(nowMs).toISOString(),
      softwareVersion,
      ...newestVersionOf(join(folder, 'sluice.db')),
      files,
    }
    await writeArchive(file, manifest, sources, passphrase)
    return manifest
  } catch (error) {
    await rm(file, { force: true })
    throw explain(error, `${file} cannot be written`)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function copyAll(
  { dataDir, withSecrets, withTelemetry }: BackUpOptions,
  folder: string,
): Promise<Sources> {
  const sources = new Map<FileName, string>()
  for (const name of ['sluice.db', 'telemetry.db'] as const) {
    if (name === 'telemetry.db' && !withTelemetry) continue
    sources.set(name, join(folder, name))
    await copyDatabase(join(dataDir, name), join(folder, name))
  }
  if (!withSecrets) return sources
  for (const name of ['master-key', 'admin-token'] as const) {
    const path = join(dataDir, name)
    // A master key from elsewhere is not in the directory.
    if (await exists(path)) sources.set(name, path)
  }
  return sources
}

async function exists(file: string): Promise<boolean> {
  try {
    await access(file)
    return true
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return false
    throw explain(error, `${file} cannot be used`)
  }
}

/** A folder that is gone with what is done in it. */
export async function inTemporaryFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-backup-'))
  try {
    return await work(folder)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

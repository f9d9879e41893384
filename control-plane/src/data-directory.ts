/** The control plane's directory: who may run on it, and the small files in it. Databases: store/database.ts. */
import { randomBytes } from 'node:crypto'
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { codeOf, explain, StartError } from './errors.ts'
import { DirectoryLock } from './store/directory-lock.ts'

const secretMode = 0o600
const directoryMode = 0o700
const adminTokenBytes = 32

export class DataDirectory {
  readonly path: string
  readonly #lock: DirectoryLock

  private constructor(path: string, lock: DirectoryLock) {
    this.path = path
    this.#lock = lock
  }

  /** Makes the directory when it is missing, and claims it until `release` or the end of the process. */
  static async claim(path: string): Promise<DataDirectory> {
    try {
      await makeDirectory(path)
      const lock = DirectoryLock.acquire(join(path, 'lock'))
      if (lock !== undefined) return new DataDirectory(path, lock)
    } catch (error) {
      throw explain(error, `the data directory ${path} cannot be used`)
    }
    throw new StartError(`another control plane runs on the data directory ${path}`)
  }

  file(name: 'sluice.db' | 'telemetry.db' | 'ca.pem' | 'admin-token' | 'master-key'): string {
    return join(this.path, name)
  }

  /** The token of the admin API, made at the first start. */
  async adminToken(): Promise<string> {
    const file = this.file('admin-token')
    const text = await readOrCreate(file, () => randomBytes(adminTokenBytes).toString('base64url'))
    if (!/^\S{16,}$/.test(text)) {
      throw new StartError(`${file} does not hold a token of at least 16 characters`)
    }
    return text
  }

  /** For `curl --cacert`. */
  async writeAuthority(caPem: string): Promise<void> {
    const file = this.file('ca.pem')
    await writeFile(file, caPem, { mode: 0o644 }).catch((error: unknown) => {
      throw explain(error, `${file} cannot be written`)
    })
  }

  release(): void {
    this.#lock.release()
  }
}

/**
 * Makes the directory and those above it. Not mkdir's `recursive`, which never returns where a file system
 * answers ENOENT for a directory whose parent exists, as /proc does.
 */
async function makeDirectory(path: string): Promise<void> {
  const make = () => mkdir(path, { mode: directoryMode })
  try {
    await make()
  } catch (error) {
    const parent = dirname(resolve(path))
    if (codeOf(error) === 'ENOENT' && parent !== resolve(path)) {
      await makeDirectory(parent)
      await make()
    } else if (codeOf(error) !== 'EEXIST' || !(await stat(path)).isDirectory()) {
      throw error
    }
  }
}

/** The text of a file that its owner alone may read, made when there is none. */
export async function readOrCreate(file: string, make: () => string): Promise<string> {
  try {
    await writeFile(file, `${make()}\n`, { flag: 'wx', mode: secretMode, flush: true })
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw explain(error, `${file} cannot be written`)
  }
  return (await readText(file)).trim()
}

export function readText(file: string): Promise<string> {
  return readFile(file, 'utf8').catch((error: unknown) => {
    throw explain(error, `${file} cannot be read`)
  })
}

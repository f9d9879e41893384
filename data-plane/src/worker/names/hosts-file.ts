/** The addresses that the hosts file gives to names. Read again when it has changed. */
import { readFile, stat } from 'node:fs/promises'
import { isIP } from 'node:net'

export class HostsFile {
  readonly #path: string
  #changedAtMs = -1
  #addresses: ReadonlyMap<string, readonly string[]> = new Map()

  constructor(path: string) {
    this.#path = path
  }

  /** undefined: the file does not have the name. `name` in lower case. */
  async addressesOf(name: string): Promise<readonly string[] | undefined> {
    try {
      const { mtimeMs } = await stat(this.#path)
      if (mtimeMs !== this.#changedAtMs) {
        this.#addresses = parseHosts(await readFile(this.#path, 'utf8'))
        this.#changedAtMs = mtimeMs
      }
    } catch {
      // Without a hosts file no name is in it.
      this.#addresses = new Map()
      this.#changedAtMs = -1
    }
    return this.#addresses.get(name)
  }
}

export function parseHosts(text: string): Map<string, string[]> {
  const found = new Map<string, string[]>()
  for (const line of text.split('\n')) {
    const [address = '', ...names] = (line.split('#')[0] ?? '').trim().split(/\s+/)
    if (isIP(address) === 0) continue
    for (const name of names) {
      const key = name.toLowerCase()
      const before = found.get(key) ?? []
      if (!before.includes(address)) found.set(key, [...before, address])
    }
  }
  return found
}

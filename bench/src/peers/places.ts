/** Where the configurations of peers are, and where `bench/peers/install` puts programs. */
import { homedir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The checkout that this file belongs to. */
export const REPOSITORY = fileURLToPath(new URL('../../../', import.meta.url))
export const CONFIGURATIONS = join(REPOSITORY, 'bench', 'peers')

export function cacheFolder(): string {
  return process.env.SLUICE_BENCH_CACHE ?? join(homedir(), '.cache', 'sluice-bench')
}

/** The program of a peer in the cache; whether it is there is another matter. */
export function cachedProgram(...path: string[]): string {
  return join(cacheFolder(), ...path)
}

/** A peer's program: the first of some places where there is one, its own word on its version, and its hash. */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { constants, createReadStream } from 'node:fs'
import { access, realpath } from 'node:fs/promises'
import { delimiter, isAbsolute, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'
import type { Found } from './peer.ts'

const run = promisify(execFile)
const VERSION_MS = 20_000
/** Where Debian puts servers, and what the path of an ordinary user leaves out. */
const FURTHER_FOLDERS = ['/usr/sbin', '/sbin']

export interface ProgramSearch {
  /** Names on the path, or absolute files. */
  readonly candidates: readonly string[]
  readonly versionFlags: readonly string[]
  /** Its first group is the version. */
  readonly versionPattern: RegExp
  readonly origin: (version: string) => string
  /** How to get it, where it is missing. */
  readonly hint: string
}

export async function findProgram(search: ProgramSearch): Promise<Found> {
  for (const candidate of search.candidates) {
    const binary = await fileOf(candidate)
    if (binary === undefined) continue
    const output = await versionOutput(binary, search.versionFlags)
    const version = search.versionPattern.exec(output)?.[1]
    if (version === undefined) {
      const said = output.trim().split('\n')[0] ?? ''
      return { kind: 'missing', reason: `${binary} does not tell its version: ${said}` }
    }
    const origin = search.origin(version)
    return { kind: 'found', version, binary, sha256: await sha256Of(binary), origin }
  }
  return { kind: 'missing', reason: search.hint }
}

/** The executable, links followed, or undefined. */
export async function fileOf(candidate: string): Promise<string | undefined> {
  const folders = [...(process.env.PATH ?? '').split(delimiter), ...FURTHER_FOLDERS]
  const files = isAbsolute(candidate) ? [candidate] : folders.map((name) => join(name, candidate))
  for (const file of files) {
    if (await isExecutable(file)) return realpath(file)
  }
  return undefined
}

export async function sha256Of(file: string): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(file), hash)
  return hash.digest('hex')
}

/** Both streams, whatever the exit code. */
export async function versionOutput(binary: string, flags: readonly string[]): Promise<string> {
  try {
    const { stdout, stderr } = await run(binary, flags, { timeout: VERSION_MS })
    return `${stdout}${stderr}`
  } catch (error) {
    const { stdout, stderr, message } = error as Error & { stdout?: string; stderr?: string }
    return `${stdout ?? ''}${stderr ?? ''}` || message
  }
}

async function isExecutable(file: string): Promise<boolean> {
  return access(file, constants.X_OK).then(
    () => true,
    () => false,
  )
}

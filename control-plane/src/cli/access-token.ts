/** Where the token comes from: --token-file, else SLUICE_TOKEN, SLUICE_TOKEN_FILE, the local default. */
import { readFileSync } from 'node:fs'
import { CommandFailure, exitCodes } from './failures.ts'

const defaultTokenFile = '.sluice/admin-token'

export interface AccessToken {
  readonly token: string
  /** What to name when the control plane refuses it. */
  readonly origin: string
}

/** Printable ASCII without spaces: anything else could not be sent in a header field. */
const tokenForm = /^[\x21-\x7e]+$/

export function readAccessToken(
  tokenFile: string | undefined,
  environment: NodeJS.ProcessEnv,
): AccessToken {
  const fromEnvironment = environment.SLUICE_TOKEN
  if (tokenFile === undefined && fromEnvironment !== undefined && fromEnvironment !== '') {
    return checked(fromEnvironment.trim(), 'SLUICE_TOKEN')
  }
  const path = tokenFile ?? (environment.SLUICE_TOKEN_FILE || defaultTokenFile)
  return checked(readToken(path).trim(), path)
}

function readToken(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new CommandFailure(
      exitCodes.usage,
      `cannot read the token file ${path}: ${reasonOf(error)}; name another with --token-file, ` +
        'SLUICE_TOKEN_FILE or SLUICE_TOKEN',
      { cause: error },
    )
  }
}

function checked(token: string, origin: string): AccessToken {
  if (!tokenForm.test(token)) {
    throw new CommandFailure(exitCodes.usage, `${origin} does not hold a token`)
  }
  return { token, origin }
}

function reasonOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  switch (code) {
    case 'ENOENT':
      return 'there is no such file'
    case 'EACCES':
      return 'permission denied'
    case 'EISDIR':
      return 'it is a directory'
    default:
      return error instanceof Error ? error.message : String(error)
  }
}

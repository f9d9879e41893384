/** Why the control plane cannot start, in one line that an operator can act on. */
export class StartError extends Error {
  override readonly name = 'StartError'
}

/** The same for errors of the operating system. */
export function explain(error: unknown, doing: string): StartError {
  if (error instanceof StartError) return error
  const code = codeOf(error)
  const why =
    (code !== undefined && reasons[code]) ||
    (error instanceof Error ? error.message : String(error))
  return new StartError(`${doing}: ${why}`, { cause: error })
}

export function codeOf(error: unknown): string | undefined {
  const code: unknown = error instanceof Error && 'code' in error ? error.code : undefined
  return typeof code === 'string' ? code : undefined
}

const reasons: Readonly<Record<string, string>> = {
  EADDRINUSE: 'the port is taken by another program',
  EADDRNOTAVAIL: 'this machine does not have that address',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  ENOENT: 'there is no such file or directory',
  ENOTDIR: 'it is not a directory',
  EEXIST: 'there is something else of that name',
  EROFS: 'the file system is read-only',
  ENOSPC: 'no space is left',
  ENOTFOUND: 'the host name is not known',
  SQLITE_CORRUPT: 'the file is damaged',
  SQLITE_NOTADB: 'the file is not a SQLite database',
  SQLITE_READONLY: 'the file is not writable',
  SQLITE_CANTOPEN: 'the file cannot be opened',
  SQLITE_FULL: 'no space is left',
}

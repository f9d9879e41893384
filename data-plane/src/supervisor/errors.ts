/** The failures that end the supervisor's start, and small helpers to name what went wrong. */

/** The node cannot run, and trying again would not help: one line for the operator, exit code 1. */
export class StartFailure extends Error {
  override readonly name = 'StartFailure'
}

/** The text of whatever was thrown. */
export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** The code of a system error, like ENOENT. */
export function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined
  return typeof error.code === 'string' ? error.code : undefined
}

/** How the command ends when it cannot do what was asked. Only main.ts turns these into exit codes. */

export const exitCodes = Object.freeze({
  refused: 1,
  usage: 2,
  unreachable: 3,
  /** Of `plan`: nothing failed, and apply would change something. */
  wouldChange: 4,
})

/** Ends the command with its text on standard error: one line per problem, no stack trace. */
export class CommandFailure extends Error {
  readonly exitCode: number

  constructor(exitCode: number, lines: string | readonly string[], options?: ErrorOptions) {
    super(typeof lines === 'string' ? lines : lines.join('\n'), options)
    this.name = 'CommandFailure'
    this.exitCode = exitCode
  }
}

export interface ProblemDetail {
  readonly kind: string
  readonly name: string
  readonly field: string
  readonly reason: string
  readonly hint?: string
}

/** The control plane answered with a problem document (RFC 9457). */
export class RequestRefused extends CommandFailure {
  readonly status: number
  readonly problems: readonly ProblemDetail[]

  constructor(status: number, summary: string, problems: readonly ProblemDetail[]) {
    // In a conflict the problems name the other objects; only the summary says what they conflict with.
    const isTold = problems.length > 0 && status !== 409
    super(exitCodes.refused, isTold ? problems.map(problemText) : summary)
    this.name = 'RequestRefused'
    this.status = status
    this.problems = problems
  }
}

/** `router/shop: service: no service named "shp" (did you mean "shop"?)`, without the parts that are empty. */
export function problemText({ kind, name, field, reason, hint }: ProblemDetail): string {
  const object = name === '' ? kind : `${kind}/${name}`
  const text = [object, field, reason].filter((part) => part !== '').join(': ')
  return hint === undefined ? text : `${text} (${hint})`
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

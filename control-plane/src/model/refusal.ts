/** Why a change was not made. Thrown by the model and by publishing; the admin API turns it into an answer. */
import { describeProblem, type Problem } from './kinds.ts'

export type RefusalCode =
  /** The input is not a document of its kind. */
  | 'malformed'
  /** The document is well formed, but the configuration with it would not work. */
  | 'invalid'
  | 'not-found'
  | 'name-taken'
  | 'referenced'
  /** A draft and what was published since change the same. */
  | 'conflict'
  /** A version is at some nodes first, and nothing is published until that has ended. */
  | 'staged'
  /** Whoever asks may not do it. */
  | 'forbidden'
  | 'too-many'

export class Refusal extends Error {
  override readonly name = 'Refusal'
  readonly code: RefusalCode
  readonly problems: readonly Problem[]

  constructor(code: RefusalCode, problems: readonly Problem[], detail?: string) {
    super(detail ?? summarise(problems))
    this.code = code
    this.problems = problems
  }
}

function summarise(problems: readonly Problem[]): string {
  const [first, ...others] = problems
  if (first === undefined) return 'the request was refused'
  const more = others.length === 0 ? '' : ` (and ${others.length} more)`
  return `${describeProblem(first)}${more}`
}

/** Compiles the route schemas: bodies are checked as they came, query and path are texts and are coerced. */
import { Ajv } from 'ajv'
import type { FastifySchemaCompiler } from 'fastify'
import type { TSchema } from 'typebox'
import type { Problem } from '../model/kinds.ts'
import { compileStrict, type SchemaProblem, toProblems } from '../model/strict-schema.ts'
import { ApiError } from './problem-details.ts'

/** Turns what a schema found in a body into problems that name the resource. */
export type Locate = (
  problems: readonly SchemaProblem[],
  body: unknown,
  query: unknown,
) => readonly Problem[]

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Set on routes whose body is a resource or has resources in it. */
    locate?: Locate
  }
}

export class SchemaMismatch extends Error {
  readonly problems: readonly SchemaProblem[]

  constructor(problems: readonly SchemaProblem[]) {
    super('the request does not have the form of its schema')
    this.problems = problems
  }
}

export function makeValidatorCompiler(): FastifySchemaCompiler<TSchema> {
  const coercing = new Ajv({
    allErrors: true,
    // A parameter that may come several times may also come once.
    coerceTypes: 'array',
    useDefaults: true,
    removeAdditional: false,
    strict: false,
    validateFormats: false,
  })
  return ({ schema, httpPart }) => {
    if (httpPart === 'body') {
      const check = compileStrict(schema)
      return (body) => outcome(body, check(body))
    }
    const validate = coercing.compile(schema)
    return (input) => outcome(input, validate(input) ? [] : toProblems(validate.errors ?? []))
  }
}

/** The error for the client, with resources named where the route can tell them. */
export function toApiError(
  { problems }: SchemaMismatch,
  locate: Locate | undefined,
  { body, query }: { readonly body: unknown; readonly query: unknown },
): ApiError {
  const located =
    locate?.(problems, body, query) ??
    problems.map((problem) => ({ kind: '' as const, name: '', ...problem }))
  const [first] = located
  const more = located.length > 1 ? ` (and ${located.length - 1} more)` : ''
  const detail = first === undefined ? '' : `${first.field || 'the body'} ${first.reason}${more}`
  return new ApiError(400, detail, located)
}

function outcome(value: unknown, problems: readonly SchemaProblem[]) {
  return problems.length === 0 ? { value } : { error: new SchemaMismatch(problems) }
}

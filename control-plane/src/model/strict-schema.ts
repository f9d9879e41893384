/** JSON schemas as strict checks: nothing is coerced, filled in or dropped, and all problems are told. */
import { Ajv, type ErrorObject } from 'ajv'
import type { TSchema } from 'typebox'
import { closest } from './closest.ts'

export interface SchemaProblem {
  /** Path like "servers[1].url"; empty: the whole. */
  readonly field: string
  readonly reason: string
  readonly hint?: string
}

export type StrictCheck = (input: unknown) => SchemaProblem[]

const ajv = new Ajv({
  allErrors: true,
  coerceTypes: false,
  removeAdditional: false,
  useDefaults: false,
  discriminator: true,
  verbose: true,
  strict: false,
  validateFormats: false,
})

export function compileStrict(schema: TSchema): StrictCheck {
  const validate = ajv.compile(schema)
  return (input) => (validate(input) ? [] : toProblems(validate.errors ?? []))
}

export function toProblems(errors: readonly ErrorObject[]): SchemaProblem[] {
  const problems = errors.filter(({ keyword }) => keyword !== 'oneOf').map(toProblem)
  // A tag that is missing is told twice: as missing, and as none of its values. The second says more.
  return problems.filter(
    ({ field }, index) => !problems.slice(index + 1).some((later) => later.field === field),
  )
}

function toProblem(error: ErrorObject): SchemaProblem {
  const path = fieldPath(error.instancePath)
  const within = (key: unknown) => (path === '' ? String(key) : `${path}.${key}`)
  switch (error.keyword) {
    case 'required':
      return { field: within(error.params.missingProperty), reason: 'is required' }
    case 'additionalProperties':
      return unknownField(error, within)
    case 'discriminator':
      return { field: within(error.params.tag), reason: tagReason(error) }
    case 'enum':
      return { field: path, reason: `must be one of ${quoted(error.params.allowedValues)}` }
    case 'const':
      return { field: path, reason: `must be ${quoted([error.params.allowedValue])}` }
    case 'pattern':
      return { field: path, reason: patternReason(error) }
    case 'propertyNames':
      return { field: path, reason: keyReason(error) }
    case 'type':
      return { field: path, reason: `must be ${article(String(error.params.type))}` }
    default:
      return { field: path, reason: error.message ?? `breaks the rule "${error.keyword}"` }
  }
}

/** "/servers/1/url" as "servers[1].url". */
function fieldPath(pointer: string): string {
  return pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce((path, part) => {
      if (/^\d+$/.test(part)) return `${path}[${part}]`
      return path === '' ? part : `${path}.${part}`
    }, '')
}

function tagReason({ parentSchema, params }: ErrorObject): string {
  const tag = String(params.tag)
  const variants: readonly { properties?: Record<string, { const?: unknown }> }[] =
    parentSchema?.oneOf ?? []
  return `must be one of ${quoted(variants.map(({ properties }) => properties?.[tag]?.const))}`
}

function patternReason({ parentSchema, message }: ErrorObject): string {
  const description: unknown = parentSchema?.description
  return typeof description === 'string'
    ? `must be ${description}`
    : (message ?? 'has a wrong form')
}

function unknownField(error: ErrorObject, within: (key: unknown) => string): SchemaProblem {
  const given = String(error.params.additionalProperty)
  const known = Object.keys(error.parentSchema?.properties ?? {})
  const close = closest(given, known)
  const hint = close === undefined ? `known are ${known.join(', ')}` : `did you mean "${close}"?`
  return { field: within(given), reason: 'is not a known field', hint }
}

function keyReason({ params, schema }: ErrorObject): string {
  // Typed as unknown, since any schema may stand here.
  const { maxLength } = schema as { maxLength?: number }
  const name = String(params.propertyName).slice(0, maxLength)
  return `has the key "${name}", which is not 1 to ${maxLength} letters, digits, ".", "_", "/" or "-"`
}

function quoted(values: readonly unknown[]): string {
  return values.map((value) => JSON.stringify(value)).join(', ')
}

function article(type: string): string {
  return /^[aeio]/.test(type) ? `an ${type}` : `a ${type}`
}

/** Why a document does not fit its schema, in the words of its fields. */
import type { TSchema } from 'typebox'
import { Settings } from 'typebox/system'
import Value from 'typebox/value'

/** What is wrong with one field of a document; the reason ends a sentence that begins with the field. */
export interface Finding {
  /** Like "servers[1].url"; empty: the document as a whole. */
  readonly field: string
  readonly reason: string
}

// By default TypeBox stops after eight, and all problems are to be told at once.
Settings.Set({ maxErrors: 1_000 })

type SchemaError = ReturnType<typeof Value.Errors>[number]

export function schemaProblems(schema: TSchema, value: unknown): Finding[] {
  // What is wrong with a key is told at the object that has it.
  return Value.Errors(schema, value)
    .filter(({ schemaPath }) => !schemaPath.endsWith('/propertyNames'))
    .flatMap((error) => toFindings(error, schema))
}

function toFindings(error: SchemaError, schema: TSchema): Finding[] {
  const field = fieldOf(error.instancePath)
  const within = (name: string) => (field === '' ? name : `${field}.${name}`)
  switch (error.keyword) {
    case 'required':
      return error.params.requiredProperties.map((name) => ({
        field: within(name),
        reason: 'is required',
      }))
    case 'additionalProperties':
      return error.params.additionalProperties.map((name) => ({
        field: within(name),
        reason: 'is not a known field',
      }))
    case 'boolean':
      // Says again, for each field, what additionalProperties says.
      return []
    case 'enum':
      return [{ field, reason: `must be one of ${quoted(error.params.allowedValues)}` }]
    case 'const':
      return [{ field, reason: `must be ${quoted([error.params.allowedValue])}` }]
    case 'pattern':
      return [{ field, reason: patternReason(schema, field) ?? error.message }]
    default:
      return [{ field, reason: error.message }]
  }
}

/** "/servers/1/url" as "servers[1].url". */
function fieldOf(pointer: string): string {
  let field = ''
  for (const part of pointer.split('/').slice(1)) {
    const name = part.replaceAll('~1', '/').replaceAll('~0', '~')
    if (/^\d+$/.test(name)) field += `[${name}]`
    else field += field === '' ? name : `.${name}`
  }
  return field
}

/** Patterns are for programs; the fields that have one describe it. They are all at the top. */
function patternReason(schema: TSchema, field: string): string | undefined {
  const properties = 'properties' in schema ? schema.properties : undefined
  const property: unknown =
    properties === undefined ? undefined : Reflect.get(Object(properties), field)
  const description: unknown =
    property === undefined ? undefined : Reflect.get(Object(property), 'description')
  return typeof description === 'string' ? `must be ${description}` : undefined
}

function quoted(values: readonly unknown[]): string {
  return values.map((value) => JSON.stringify(value)).join(', ')
}

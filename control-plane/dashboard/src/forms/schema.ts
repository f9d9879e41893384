/** What forms read of the API's schemas (JSON Schema, as OpenAPI 3.1 has it). */
import { useQuery } from '@tanstack/react-query'

export interface Schema {
  readonly type?: string
  readonly enum?: readonly string[]
  readonly description?: string
  readonly default?: unknown
  readonly minimum?: number
  readonly maximum?: number
  readonly maxLength?: number
  readonly readOnly?: boolean
  readonly writeOnly?: boolean
  readonly required?: readonly string[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: boolean | Schema
  readonly items?: Schema
  readonly oneOf?: readonly Schema[]
  readonly discriminator?: { readonly propertyName: string }
}

interface ApiDocument {
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

/** The schemas that the control plane checks requests by; they change only with its software. */
export function useSchemas() {
  return useQuery({
    queryKey: ['api-document'],
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async () => {
      const answer = await fetch('/api/openapi.json', { signal: AbortSignal.timeout(20_000) })
      const { components } = (await answer.json()) as ApiDocument
      return components.schemas
    },
  })
}

/** The alternative of a schema that a document follows. */
export function alternativeOf(schema: Schema, value: FormValue): Schema {
  const tag = schema.discriminator?.propertyName
  if (schema.oneOf === undefined || tag === undefined) return schema
  const chosen = schema.oneOf.find((one) => one.properties?.[tag]?.enum?.[0] === value[tag])
  return chosen ?? schema.oneOf[0] ?? schema
}

export type FormValue = Readonly<Record<string, unknown>>

export function editableFields(schema: Schema): (readonly [string, Schema])[] {
  return Object.entries(schema.properties ?? {}).filter(([, { readOnly }]) => readOnly !== true)
}

/** What a new document begins with: what is required, empty, and nothing else. */
export function emptyValue(schema: Schema): FormValue {
  const required = (schema.required ?? []).map((name) => {
    const field = schema.properties?.[name]
    return [name, field === undefined ? '' : emptyField(field)] as const
  })
  return Object.fromEntries(required)
}

export function emptyField(schema: Schema): unknown {
  if (schema.enum !== undefined) return schema.enum[0]
  if (schema.default !== undefined) return schema.default
  switch (schema.type) {
    case 'array':
      return schema.items?.type === 'object' ? [emptyValue(schema.items)] : []
    case 'object':
      return emptyValue(schema)
    case 'boolean':
      return false
    case 'integer':
    case 'number':
      return schema.minimum ?? 0
    default:
      return ''
  }
}

/** Only what may be written, so that what GET answered can be sent back. */
export function writableOf(schema: Schema, value: FormValue): FormValue {
  const names = new Set(editableFields(alternativeOf(schema, value)).map(([name]) => name))
  return Object.fromEntries(
    Object.entries(value).filter(
      ([name, field]) => names.has(name) && field !== '' && field !== undefined,
    ),
  )
}

/** `idleConnectionsMax` as words. */
export function wordsOf(name: string): string {
  const words = name
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .replace(/ ms$/, ' (ms)')
    .replace(/ pem$/, ' (PEM)')
    .replace(/^url$/, 'URL')
  return words.charAt(0).toUpperCase() + words.slice(1)
}

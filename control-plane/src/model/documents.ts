/**
 * The border for resources: documents as operators write them, checked strictly (no coercion, no unknown
 * field) and with defaults filled in. What comes out can be trusted to have the shape of its type.
 */
import { type Static, type TSchema, Type } from 'typebox'
import { Value } from 'typebox/value'
import { KINDS, type Kind, type Problem, SETTINGS_NAME } from './kinds.ts'
import { limits } from './limits.ts'
import { normalise } from './normalise.ts'
import {
  Certificate,
  EntryPoint,
  InternalCertificate,
  type ObjectSchema,
  type Resource,
  Router,
  requestSchema,
  Service,
  Settings,
  UploadedCertificate,
} from './resources.ts'
import { compileStrict, type SchemaProblem } from './strict-schema.ts'

export type UploadedCertificateDocument = Omit<
  Static<typeof UploadedCertificate>,
  'privateKeyPem'
> & { readonly privateKeyPem?: string }
export type InternalCertificateDocument = Static<typeof InternalCertificate>

/** What an operator wants a resource to be. For all but certificates that is the resource itself. */
export type Document =
  | Exclude<Resource, { kind: 'certificate' }>
  | {
      readonly kind: 'certificate'
      readonly spec: UploadedCertificateDocument | InternalCertificateDocument
    }

export type Reading =
  | { readonly kind: 'document'; readonly document: Document }
  | { readonly kind: 'malformed'; readonly problems: readonly Problem[] }

/** Titles name the schemas in the API's description. */
function titled(title: string, schema: ObjectSchema): ObjectSchema {
  return { title, ...schema }
}

/** Either kind of certificate, told apart by its source. */
export function certificateUnion(title: string, uploaded: TSchema, internal: TSchema): TSchema {
  return Type.Unsafe({
    title,
    type: 'object',
    required: ['source'],
    discriminator: { propertyName: 'source' },
    oneOf: [uploaded, internal],
  })
}

/** Schemas of request bodies by kind. */
export const documentSchemas = {
  'entry-point': titled('EntryPointRequest', requestSchema(EntryPoint)),
  router: titled('RouterRequest', requestSchema(Router)),
  service: titled('ServiceRequest', requestSchema(Service)),
  certificate: certificateUnion('CertificateRequest', UploadedCertificate, InternalCertificate),
  settings: titled('SettingsRequest', requestSchema(Settings)),
} satisfies Record<Kind, TSchema>

/** A patched certificate may go on with the key that it has: the key was never shown to whom patches. */
const patchedCertificate = certificateUnion(
  'PatchedCertificate',
  { ...UploadedCertificate, required: ['name', 'source', 'chainPem'] },
  InternalCertificate,
)

/** A resource document with its kind beside its fields, as `apply` takes it. */
export const flatDocumentSchema = Type.Unsafe<{ readonly kind: Kind }>({
  title: 'AnyResourceRequest',
  type: 'object',
  required: ['kind'],
  discriminator: { propertyName: 'kind' },
  oneOf: [
    withKind('entry-point', documentSchemas['entry-point']),
    withKind('router', documentSchemas.router),
    withKind('service', documentSchemas.service),
    {
      ...certificateUnion(
        'AnyCertificateRequest',
        withKind('certificate', UploadedCertificate),
        withKind('certificate', InternalCertificate),
      ),
      required: ['kind', 'source'],
      properties: { kind: { const: 'certificate' } },
    },
    withKind('settings', documentSchemas.settings),
  ],
})

function withKind(kind: Kind, schema: ObjectSchema): TSchema {
  const properties = { kind: { const: kind }, ...schema.properties }
  const required = ['kind', ...(schema.required ?? [])]
  const { title: _, ...untitled } = schema
  return { ...untitled, required, properties }
}

const full = { 'entry-point': EntryPoint, router: Router, service: Service, settings: Settings }

/** Turns a body that passed its schema in `documentSchemas` into a document. */
export function toDocument(kind: Kind, checked: unknown): Document {
  // The casts hold since the schema was checked, and the defaults come from the same schema.
  if (kind === 'certificate') return { kind, spec: structuredClone(checked) } as Document
  const spec = inSchemaOrder(full[kind], Value.Default(full[kind], structuredClone(checked)))
  return normalise({ kind, spec } as Resource) as Document
}

/** As `toDocument`, for a document that passed `flatDocumentSchema`. */
export function fromFlat({ kind, ...spec }: { readonly kind: Kind }): Document {
  return toDocument(kind, spec)
}

/** A resource as it was stored, with the defaults of fields that did not exist then. */
export function readStored(kind: Kind, body: string): Resource {
  // The casts hold: what is stored was checked before, and fields are added with a default only.
  const spec: unknown = JSON.parse(body)
  const schema = kind === 'certificate' ? Certificate : full[kind]
  return { kind, spec: inSchemaOrder(schema, Value.Default(schema, spec)) } as Resource
}

/** Lists fields as the schema does, in whatever order they were written. */
function inSchemaOrder(schema: TSchema, value: unknown): unknown {
  if ('items' in schema && Array.isArray(value)) {
    return value.map((item) => inSchemaOrder(schema.items as TSchema, item))
  }
  if (!('properties' in schema) || !isRecord(value)) return value
  const ordered = Object.entries(schema.properties as Record<string, TSchema>)
    .filter(([key]) => key in value)
    .map(([key, property]) => [key, inSchemaOrder(property, value[key])])
  return Object.fromEntries(ordered)
}

const checks = new Map(KINDS.map((kind) => [kind, compileStrict(documentSchemas[kind])]))
const checkPatchedCertificate = compileStrict(patchedCertificate)

/** Reads what a merge patch made of a resource. */
export function readPatched(kind: Kind, name: string, input: unknown): Reading {
  const check = kind === 'certificate' ? checkPatchedCertificate : checks.get(kind)
  const found = check?.(input) ?? []
  if (found.length === 0) return { kind: 'document', document: toDocument(kind, input) }
  return { kind: 'malformed', problems: found.map((problem) => ({ kind, name, ...problem })) }
}

/** Names the resource in the problems that the schema of a body found. */
export function locate(problems: readonly SchemaProblem[], kind: Kind, body: unknown): Problem[] {
  const name = kind === 'settings' ? SETTINGS_NAME : textOf(body, 'name')
  return problems.slice(0, limits.problemsMax).map((problem) => ({ kind, name, ...problem }))
}

/** As `locate`, for the body of `apply`: the fields of a resource are named from within it. */
export function locateInList(problems: readonly SchemaProblem[], body: unknown): Problem[] {
  const list = isRecord(body) && Array.isArray(body.resources) ? body.resources : []
  return problems.slice(0, limits.problemsMax).map(({ field, ...told }) => {
    const [, index, within = ''] = /^resources\[(\d+)\]\.?(.*)$/.exec(field) ?? []
    if (index === undefined) return { kind: '', name: '', field, ...told }
    const resource: unknown = list[Number(index)]
    const kind = KINDS.find((known) => known === textOf(resource, 'kind')) ?? ''
    const name = kind === 'settings' ? SETTINGS_NAME : textOf(resource, 'name')
    // A resource without a kind or a name is told by its place in the list.
    if (kind === '' || name === '') return { kind, name, field, ...told }
    return { kind, name, field: within, ...told }
  })
}

interface NamedDocument {
  readonly index: number
  readonly kind: Kind
  readonly name: string
  readonly document: unknown
}

/** The documents in the body of `apply` that say of which kind they are. */
export function namedInList(body: unknown): NamedDocument[] {
  const list = isRecord(body) && Array.isArray(body.resources) ? body.resources : []
  return list.flatMap((document: unknown, index) => {
    const kind = KINDS.find((known) => known === textOf(document, 'kind'))
    if (kind === undefined) return []
    const name = kind === 'settings' ? SETTINGS_NAME : textOf(document, 'name')
    return { index, kind, name, document }
  })
}

function textOf(value: unknown, key: string): string {
  const text = isRecord(value) ? value[key] : undefined
  return typeof text === 'string' ? text.slice(0, limits.nameCharactersMax) : ''
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * A node's configuration from a file instead of a control plane: the documents that `sluice apply` reads,
 * checked by the same rules and encoded as the control plane encodes them, so that all that follows is the
 * same. Finds all problems at once, each with its line.
 */
import { readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { type EntryPoint, type Problem, Resource, ResourceKind } from '@sluice/proto'
import Value from 'typebox/value'
import { problemsOf } from './configuration.ts'
import { readCertificate } from './documents/certificates.ts'
import { neighbourFindings, resourceFindings } from './documents/resource-rules.ts'
import { type Finding, schemaProblems } from './documents/schema-problems.ts'
import {
  type CertificateDocument,
  DOCUMENT_KINDS,
  type DocumentKind,
  documentSchemas,
} from './documents/schemas.ts'
import { type ResourceValue, toResource } from './documents/to-resource.ts'
import { readYaml, type YamlDocument } from './documents/yaml-documents.ts'

export type StaticReading =
  | {
      readonly kind: 'read'
      /** Encoded sluice.v1 Resource messages. */
      readonly resources: readonly Uint8Array[]
      /** A problem of one of the resources, with its place in the file. */
      readonly locate: (problem: Problem) => string
    }
  /** Like `shop.yaml:20: document 3: router/shop: service: is required`. */
  | { readonly kind: 'refused'; readonly problems: readonly string[] }

/** More would say nothing new. */
const PROBLEMS_MAX = 200
const FILE_BYTES_MAX = 64 * 1024 * 1024

export async function readStaticFile(path: string): Promise<StaticReading> {
  let content: Buffer
  try {
    content = await readFile(path)
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    return { kind: 'refused', problems: [`${path}: cannot be read: ${why}`] }
  }
  if (content.length > FILE_BYTES_MAX) {
    return { kind: 'refused', problems: [`${path}: is larger than ${FILE_BYTES_MAX} bytes`] }
  }
  return readStaticText(path, content.toString('utf8'))
}

/** `path` is what problems call the file, and where paths within it start from. */
export async function readStaticText(path: string, text: string): Promise<StaticReading> {
  const yaml = readYaml(text)
  const problems: Located[] = yaml.problems.map(({ line, number, reason }) => ({
    line,
    text: `document ${number}: ${reason}`,
  }))
  const file = new StaticFile(path, problems)
  for (const document of yaml.documents) file.take(document)
  if (yaml.documents.length === 0 && problems.length === 0) {
    problems.push({ line: 1, text: 'has no documents' })
  }
  await file.resolveCertificates()
  file.checkRules()
  if (problems.length === 0) file.checkCompiles()
  if (problems.length === 0) {
    return { kind: 'read', resources: file.encoded(), locate: (problem) => file.locate(problem) }
  }
  // In the order of the file: that is how they are put right.
  const sorted = problems.toSorted((one, other) => one.line - other.line).slice(0, PROBLEMS_MAX)
  return { kind: 'refused', problems: sorted.map((one) => `${path}:${one.line}: ${one.text}`) }
}

interface Located {
  readonly line: number
  readonly text: string
}

/** A document whose kind and name can be told. */
interface Described {
  readonly kind: DocumentKind
  readonly name: string
  readonly document: YamlDocument
  /** Undefined while a certificate is not read, or when the document is refused. */
  resource: ResourceValue | undefined
}

class StaticFile {
  readonly #path: string
  readonly #problems: Located[]
  readonly #byKey = new Map<string, Described>()
  readonly #certificates: { readonly described: Described; readonly spec: CertificateDocument }[] =
    []

  /** There are documents of which not even kind and name are known. */
  #hasUnreadable: boolean

  constructor(path: string, problems: Located[]) {
    this.#path = path
    this.#problems = problems
    this.#hasUnreadable = problems.length > 0
  }

  take(document: YamlDocument): void {
    const { value } = document
    const kind = isRecord(value) ? DOCUMENT_KINDS.find((known) => known === value.kind) : undefined
    if (!isRecord(value)) {
      this.#refuse(document, 'it is not a mapping of fields')
    } else if (kind === undefined) {
      this.#refuse(document, `kind: ${kindReason(value.kind)}`)
    } else {
      const described = { kind, name: nameOf(kind, value), document, resource: undefined }
      if (this.#isNew(described)) this.#read(described, value)
    }
  }

  #read(described: Described, value: Readonly<Record<string, unknown>>): void {
    const { kind } = described
    if (kind !== 'certificate') {
      if (Value.Check(documentSchemas[kind], value)) described.resource = toResource(kind, value)
      else this.#report(described, schemaProblems(documentSchemas[kind], value))
    } else if (value.source === 'internal') {
      this.#report(described, [{ field: 'source', reason: NO_AUTHORITY }])
    } else if (Value.Check(documentSchemas.certificate, value)) {
      this.#certificates.push({ described, spec: value })
    } else {
      this.#report(described, schemaProblems(documentSchemas.certificate, value))
    }
  }

  async resolveCertificates(): Promise<void> {
    for (const { described, spec } of this.#certificates) {
      const reading = await readCertificate(spec, dirname(this.#path))
      if (reading.kind === 'refused') this.#report(described, reading.findings)
      else described.resource = { $case: 'certificate', value: reading.certificate }
    }
  }

  checkRules(): void {
    const entryPoints: EntryPoint[] = []
    // What cannot be read may be what is referred to.
    const isDescribed = (kind: DocumentKind, name: string) =>
      this.#hasUnreadable || this.#byKey.has(`${kind}/${name}`)
    for (const described of this.#byKey.values()) {
      const { resource } = described
      if (resource === undefined) continue
      this.#report(described, resourceFindings(resource, isDescribed))
      if (resource.$case !== 'entryPoint') continue
      this.#report(described, neighbourFindings(resource.value, entryPoints))
      entryPoints.push(resource.value)
    }
  }

  /** What only the node's own tables could object to. */
  checkCompiles(): void {
    for (const problem of problemsOf(this.encoded())) {
      const { line, text } = this.#place(problem)
      this.#problems.push({ line, text })
    }
  }

  /** Settings are part of every version, also where the file says nothing of them. */
  encoded(): Uint8Array[] {
    const values = [...this.#byKey.values()].flatMap(({ resource }) => resource ?? [])
    if (!this.#byKey.has('settings/settings')) {
      values.push(toResource('settings', { kind: 'settings' }))
    }
    return values.map((resource) => Resource.encode({ resource }).finish())
  }

  locate(problem: Problem): string {
    const { line, text } = this.#place(problem)
    return `${this.#path}:${line}: ${text}`
  }

  #place({ object, field, reason }: Problem): Located {
    const kind = object === undefined ? undefined : KIND_OF[object.kind]
    const described = this.#byKey.get(`${kind}/${object?.name}`)
    if (described === undefined) return { line: 1, text: reason }
    return toLocated(described, { field, reason })
  }

  /** The same object twice would leave it to chance which description holds. */
  #isNew(described: Described): boolean {
    const { kind, name, document } = described
    // Without a name there is no telling; its absence is a problem of its own.
    const key = name === '' ? `${kind}#${document.number}` : `${kind}/${name}`
    const first = this.#byKey.get(key)
    if (first === undefined) {
      this.#byKey.set(key, described)
      return true
    }
    const reason = `is described at ${this.#path}:${first.document.lineOf('name')} already`
    this.#report(described, [{ field: 'name', reason }])
    return false
  }

  #report(described: Described, findings: readonly Finding[]): void {
    for (const finding of findings) this.#problems.push(toLocated(described, finding))
  }

  #refuse(document: YamlDocument, reason: string): void {
    const text = `document ${document.number}: ${reason}`
    this.#hasUnreadable = true
    this.#problems.push({ line: document.lineOf('kind'), text })
  }
}

const NO_AUTHORITY =
  'is internal, which needs the certificate authority of a control plane; a node on its own takes ' +
  'source: uploaded with chainPem and privateKeyPem, or chainFile and privateKeyFile'

const KIND_OF: Readonly<Record<number, DocumentKind>> = {
  [ResourceKind.ENTRY_POINT]: 'entry-point',
  [ResourceKind.ROUTER]: 'router',
  [ResourceKind.SERVICE]: 'service',
  [ResourceKind.CERTIFICATE]: 'certificate',
  [ResourceKind.SETTINGS]: 'settings',
}

function toLocated({ kind, name, document }: Described, { field, reason }: Finding): Located {
  const object = kind === 'settings' || name === '' ? kind : `${kind}/${name}`
  const parts = [`document ${document.number}`, object, field, reason]
  return { line: document.lineOf(field), text: parts.filter((part) => part !== '').join(': ') }
}

function kindReason(kind: unknown): string {
  const known = DOCUMENT_KINDS.join(', ')
  if (kind === undefined) return `is missing; one of ${known}`
  return `${JSON.stringify(kind)} is not one of ${known}`
}

function nameOf(kind: DocumentKind, value: Readonly<Record<string, unknown>>): string {
  if (kind === 'settings') return 'settings'
  return typeof value.name === 'string' ? value.name.slice(0, 63) : ''
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** One resource as YAML that `apply` and `edit` take. */
import { stringify } from 'yaml'

type Resource = Readonly<Record<string, unknown>>

/** The object as `apply` takes it; what only the control plane writes stands above it as comments. */
export function yamlText(kind: string, resource: Resource): string {
  const written = new Set(writtenFields(resource.source))
  const entries = Object.entries(resource)
  const body = Object.fromEntries(entries.filter(([field]) => !written.has(field)))
  const notes = entries.filter(
    ([field, value]) => written.has(field) && value !== null && field !== 'chainPem',
  )
  const note = stringify(Object.fromEntries(notes)).trimEnd().replaceAll(/^/gm, '# ')
  return `${note}\n${stringify({ kind, ...body }).trimEnd()}`
}

function writtenFields(source: unknown): readonly string[] {
  if (source === 'internal') return writtenOfInternal
  return source === 'uploaded' ? writtenOfUploaded : writtenOfAll
}

const writtenOfAll = ['createdAt', 'updatedAt', 'revision', 'warnings']
const writtenOfCertificate = ['notBefore', 'notAfter', 'fingerprint', 'issuer']
const writtenOfInternal = [...writtenOfAll, ...writtenOfCertificate, 'chainPem']
const writtenOfUploaded = [...writtenOfAll, ...writtenOfCertificate, 'hosts']

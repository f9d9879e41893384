/** Reads what `export.ts` wrote, or YAML documents as `apply` takes them. Throws a Refusal with every problem. */
import { setImmediate } from 'node:timers/promises'
import { Composer, type Document, Parser } from 'yaml'
import { CertificateError } from '../certificates/certificate-error.ts'
import { inspectChain, inspectKey } from '../certificates/inspect.ts'
import { readPatched } from '../model/documents.ts'
import { KINDS, type Problem, SETTINGS_NAME } from '../model/kinds.ts'
import { limits } from '../model/limits.ts'
import { Refusal } from '../model/refusal.ts'
import { toCertificate } from './certificates.ts'
import { type Change, changedId } from './changes.ts'
import { exportFormat, keyContext } from './export.ts'
import type { PrivateKey } from './key-ring.ts'
import { SecretBox } from './secret-box.ts'

export interface Import {
  readonly changes: readonly Change[]
  /** Keys of the certificates among them. */
  readonly keys: readonly PrivateKey[]
  /** `KIND NAME` of all resources. */
  readonly ids: ReadonlySet<string>
}

/** How many documents are read before others get their turn: some tens of milliseconds. */
const documentsPerTurn = 50

type Fields = Readonly<Record<string, unknown>>

export async function readImport(text: string, passphrase?: string): Promise<Import> {
  const { head, resources } = await readDocuments(text)
  const box = await boxOf(head, passphrase)
  const problems: Problem[] = []
  const changes: Change[] = []
  const keys: PrivateKey[] = []
  for (const [index, fields] of resources.entries()) {
    if (index % documentsPerTurn === 0) await setImmediate()
    const read = readResource(fields, box)
    if ('problems' in read) problems.push(...read.problems)
    else {
      changes.push(read.change)
      if (read.key !== undefined) keys.push(read.key)
    }
  }
  if (problems.length > 0) throw new Refusal('invalid', problems.slice(0, limits.problemsMax))
  return { changes, keys, ids: new Set(changes.map(changedKey)) }
}

async function readDocuments(
  text: string,
): Promise<{ head: Fields | undefined; resources: readonly Fields[] }> {
  const all: Fields[] = []
  let count = 0
  // Document by document, so that a large import does not keep everybody else waiting.
  for (const document of new Composer().compose(new Parser().parse(text))) {
    count += 1
    if (count > limits.resourcesPerApplyMax) {
      throw malformed(`the import has more than ${limits.resourcesPerApplyMax} documents`)
    }
    const [broken] = document.errors
    if (broken !== undefined) throw malformed(`the import is not YAML: ${broken.message}`)
    const fields = toFields(document, count)
    if (fields !== undefined) all.push(fields)
    if (count % documentsPerTurn === 0) await setImmediate()
  }
  const head = all.find(({ kind }) => kind === 'export')
  if (head !== undefined && head.format !== exportFormat) {
    throw malformed(
      `the import has format ${head.format}; this control plane reads ${exportFormat}`,
    )
  }
  return { head, resources: all.filter((fields) => fields !== head) }
}

function toFields(document: Document.Parsed, number: number): Fields | undefined {
  let value: unknown
  try {
    value = document.toJS()
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw malformed(`document ${number} of the import cannot be read: ${why}`)
  }
  if (value === null || value === undefined) return undefined
  if (typeof value !== 'object' || Array.isArray(value)) {
    throw malformed(`document ${number} of the import is not a mapping of fields`)
  }
  return value as Fields
}

async function boxOf(
  head: Fields | undefined,
  passphrase: string | undefined,
): Promise<SecretBox | undefined> {
  if (typeof head?.salt !== 'string') return undefined
  if (passphrase === undefined) {
    throw malformed('the private keys of the import are sealed; its passphrase is needed')
  }
  return await SecretBox.open(passphrase, head.salt)
}

type Reading =
  | { readonly change: Change; readonly key?: PrivateKey }
  | { readonly problems: readonly Problem[] }

function readResource(fields: Fields, box: SecretBox | undefined): Reading {
  const { kind: given, sealedPrivateKey, ...spec } = fields
  const kind = KINDS.find((known) => known === given)
  if (kind === undefined) {
    const reason = `must be one of ${KINDS.join(', ')}`
    return { problems: [{ kind: '', name: '', field: 'kind', reason }] }
  }
  const name = kind === 'settings' ? SETTINGS_NAME : String(spec.name ?? '')
  if (kind === 'certificate' && sealedPrivateKey !== undefined) {
    return readSealed(name, spec, { sealed: String(sealedPrivateKey), box })
  }
  const reading = readPatched(kind, name, spec)
  if (reading.kind === 'malformed') return { problems: reading.problems }
  return { change: { op: 'put', document: reading.document } }
}

/** A certificate with its key is taken as it is, an internal one too: nodes are to get the same bytes. */
function readSealed(
  name: string,
  spec: Fields,
  { sealed, box }: { sealed: string; box: SecretBox | undefined },
): Reading {
  const report = (field: string, reason: string): Reading => ({
    problems: [{ kind: 'certificate', name, field, reason }],
  })
  const { chainPem, ...others } = spec
  const source = spec.source === 'internal' ? 'internal' : 'uploaded'
  const reading = readPatched('certificate', name, source === 'internal' ? others : spec)
  if (reading.kind === 'malformed') return { problems: reading.problems }
  const { document } = reading
  if (document.kind !== 'certificate' || typeof chainPem !== 'string') {
    return report('chainPem', 'is required')
  }
  const pem = box?.unseal(sealed, keyContext(name))
  if (pem === undefined) {
    return report(
      'sealedPrivateKey',
      'cannot be unsealed: the passphrase is wrong, or it is damaged',
    )
  }
  try {
    const { publicKeyId } = inspectChain(chainPem)
    const key = inspectKey(pem)
    if (key.publicKeyId !== publicKeyId) return report('sealedPrivateKey', 'does not fit the chain')
    const resource = { kind: 'certificate', spec: toCertificate(document.spec, chainPem) } as const
    return { change: { op: 'restore', resource }, key: { id: publicKeyId, pem: key.pkcs8Pem } }
  } catch (error) {
    if (!(error instanceof CertificateError)) throw error
    return report(error.field, error.reason)
  }
}

function changedKey(change: Change): string {
  const { kind, name } = changedId(change)
  return `${kind} ${name}`
}

function malformed(detail: string): Refusal {
  return new Refusal('malformed', [], detail)
}

/** Makes candidates for a version out of documents: certificates resolved, everything checked and encoded. */
import { checkReferences, checkWritten } from '../model/check-references.ts'
import { checkResource } from '../model/check-resource.ts'
import { type Configuration, idOf, type ResourceId } from '../model/configuration.ts'
import type { Document } from '../model/documents.ts'
import { type FeatureNeed, featureNeeds } from '../model/features.ts'
import type { Problem } from '../model/kinds.ts'
import { limits } from '../model/limits.ts'
import { Refusal } from '../model/refusal.ts'
import type { Resource } from '../model/resources.ts'
import type { CertificateDesk } from './certificates.ts'
import { documentId, type ResolvedChanges, requireUnused } from './changes.ts'
import { encodeResource } from './encode.ts'
import type { KeyRing, PrivateKey } from './key-ring.ts'
import type { PublishedState } from './published-state.ts'
import { digestOf } from './version-hash.ts'

/** A resource in its wire form. */
export interface Candidate {
  readonly resource: Resource
  readonly encoded: Uint8Array
  readonly digest: Uint8Array
  readonly needs: readonly FeatureNeed[]
}

export interface Preparation {
  readonly candidates: readonly Candidate[]
  /** Keys of the candidates that may not be stored yet. */
  readonly keys: readonly PrivateKey[]
  /** The configuration with the candidates. */
  readonly next: Configuration
}

interface PreparationParts {
  readonly desk: CertificateDesk
  readonly ring: KeyRing
  /** Keys that came with restored certificates. */
  readonly given: readonly PrivateKey[]
}

/** Throws a Refusal with every problem of the documents and of the configuration with them. */
export async function prepare(
  { put, restored, removed }: ResolvedChanges,
  state: PublishedState,
  { desk, ring, given }: PreparationParts,
): Promise<Preparation> {
  const { resources, keys, refused, problems } = await resolveCertificates(put, state, desk)
  keys.push(...given)
  resources.push(...restored)
  problems.push(...resources.flatMap(checkResource))
  const next = state.configuration.with(resources, removed)
  if (resources.length === 0 && refused.length === 0) requireUnused(removed, next)
  // What was published has no problem, so most changes are checked by what they write.
  problems.push(
    ...(removed.length === 0
      ? checkWritten(next, resources, refused)
      : checkReferences(next, refused)),
  )
  if (problems.length > 0) throw new Refusal('invalid', problems.slice(0, limits.problemsMax))
  const pending = new Map(keys.map(({ id, pem }) => [id, pem]))
  const findPem = (id: string) => ring.find(id) ?? pending.get(id)
  return { candidates: resources.map((resource) => toCandidate(resource, findPem)), keys, next }
}

export function toCandidate(
  resource: Resource,
  findPem: (publicKeyId: string) => string | undefined,
): Candidate {
  const pem = resource.kind === 'certificate' ? findPem(resource.spec.publicKeyId) : ''
  if (pem === undefined) {
    throw new Error(`certificate "${idOf(resource).name}" has no private key in the database`)
  }
  const encoded = encodeResource(resource, pem)
  return { resource, encoded, digest: digestOf(encoded), needs: featureNeeds(resource) }
}

interface ResolvedDocuments {
  readonly resources: Resource[]
  readonly keys: PrivateKey[]
  readonly refused: ResourceId[]
  readonly problems: Problem[]
}

/** The resources that documents describe, each good by itself. Throws a Refusal with every problem. */
export async function resolveDocuments(
  { put, restored }: Pick<ResolvedChanges, 'put' | 'restored'>,
  state: PublishedState,
  desk: CertificateDesk,
): Promise<{ readonly resources: readonly Resource[]; readonly keys: readonly PrivateKey[] }> {
  const { resources, keys, problems } = await resolveCertificates(put, state, desk)
  resources.push(...restored)
  problems.push(...resources.flatMap(checkResource))
  if (problems.length > 0) throw new Refusal('invalid', problems.slice(0, limits.problemsMax))
  return { resources, keys }
}

async function resolveCertificates(
  documents: readonly Document[],
  { configuration }: PublishedState,
  desk: CertificateDesk,
): Promise<ResolvedDocuments> {
  const resolved: ResolvedDocuments = { resources: [], keys: [], refused: [], problems: [] }
  for (const document of documents) {
    if (document.kind !== 'certificate') {
      resolved.resources.push(document)
      continue
    }
    const id = documentId(document)
    const prepared = await desk.prepare(document.spec, configuration.certificates.get(id.name))
    if (prepared.kind === 'refused') {
      resolved.refused.push(id)
      resolved.problems.push(...prepared.problems)
      continue
    }
    resolved.resources.push({ kind: 'certificate', spec: prepared.certificate })
    if (prepared.key !== undefined) resolved.keys.push(prepared.key)
  }
  return resolved
}

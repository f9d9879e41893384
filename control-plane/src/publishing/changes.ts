/** What an operator asks to be changed, and what becomes of it against a configuration. */

import { referencesTo } from '../model/check-references.ts'
import type { Configuration, ResourceId } from '../model/configuration.ts'
import { idOf } from '../model/configuration.ts'
import { type Document, readPatched } from '../model/documents.ts'
import { describe, type Kind, type Problem, SETTINGS_NAME } from '../model/kinds.ts'
import { mergePatch } from '../model/merge-patch.ts'
import { Refusal } from '../model/refusal.ts'
import type { Resource } from '../model/resources.ts'
import { writableSpec } from './writable-spec.ts'

export type Change =
  /** Refused when the name is taken. */
  | { readonly op: 'create'; readonly document: Document }
  /** Refused when there is nothing of that name. */
  | { readonly op: 'replace'; readonly document: Document }
  | { readonly op: 'put'; readonly document: Document }
  /** An RFC 7396 merge patch. */
  | { readonly op: 'patch'; readonly kind: Kind; readonly name: string; readonly patch: unknown }
  | { readonly op: 'remove'; readonly kind: Kind; readonly name: string }
  /** A resource as it was kept before: in an older version, in a draft, in an export. */
  | { readonly op: 'restore'; readonly resource: Resource }

export interface ResolvedChanges {
  readonly put: readonly Document[]
  readonly restored: readonly Resource[]
  readonly removed: readonly ResourceId[]
}

/** Decides each change by what there is now. Throws a Refusal for what cannot be done. */
export function resolveChanges(
  changes: readonly Change[],
  configuration: Configuration,
): ResolvedChanges {
  const put: Document[] = []
  const restored: Resource[] = []
  const removed: ResourceId[] = []
  for (const change of changes) {
    switch (change.op) {
      case 'create':
        requireFree(documentId(change.document), configuration)
        put.push(change.document)
        break
      case 'replace':
        requirePresent(documentId(change.document), configuration)
        put.push(change.document)
        break
      case 'put':
        put.push(change.document)
        break
      case 'patch':
        put.push(patched(change, configuration))
        break
      case 'remove':
        requirePresent(change, configuration)
        removed.push({ kind: change.kind, name: change.name })
        break
      case 'restore':
        restored.push(change.resource)
    }
  }
  requireUnique([...put.map(documentId), ...restored.map(idOf), ...removed])
  return { put, restored, removed }
}

/** The resource that a change is about. */
export function changedId(change: Change): ResourceId {
  switch (change.op) {
    case 'patch':
    case 'remove':
      return { kind: change.kind, name: change.name }
    case 'restore':
      return idOf(change.resource)
    case 'create':
    case 'replace':
    case 'put':
      return documentId(change.document)
  }
}

export function documentId(document: Document): ResourceId {
  return document.kind === 'certificate'
    ? { kind: 'certificate', name: document.spec.name }
    : idOf(document)
}

function patched(
  { kind, name, patch }: Extract<Change, { op: 'patch' }>,
  configuration: Configuration,
): Document {
  requirePresent({ kind, name }, configuration)
  const merged = mergePatch(writableSpec(configuration, { kind, name }), patch)
  const reading = readPatched(kind, name, merged)
  if (reading.kind === 'malformed') throw new Refusal('malformed', reading.problems)
  const id = documentId(reading.document)
  if (id.name !== name) throw new Refusal('malformed', [renaming(kind, name, id.name)])
  return reading.document
}

/** The problem of a body whose name is not that of the address it was sent to. */
export function renaming(kind: Kind, name: string, given: string): Problem {
  const reason = `is "${given}", but the request is for "${name}"; a resource cannot be renamed`
  return { kind, name, field: 'name', reason }
}

function requireFree(id: ResourceId, configuration: Configuration): void {
  if (!configuration.has(id)) return
  throw new Refusal('name-taken', [{ ...id, field: 'name', reason: 'is taken' }])
}

function requirePresent({ kind, name }: ResourceId, configuration: Configuration): void {
  if (configuration.has({ kind, name })) return
  throw new Refusal('not-found', [], `there is no ${describe(kind, name)}`)
}

/** Refuses removals of what is still used in the configuration that would be left. */
export function requireUnused(removed: readonly ResourceId[], left: Configuration): void {
  const problems = referencesTo(left, removed)
  const [first] = removed
  if (problems.length === 0 || first === undefined) return
  const referrers = new Set(
    problems.map((problem) => describe(problem.kind || first.kind, problem.name)),
  )
  const what = removed.length === 1 ? describe(first.kind, first.name) : 'what would be deleted'
  throw new Refusal('referenced', problems, `${what} is still used by ${listed([...referrers])}`)
}

function requireUnique(ids: readonly ResourceId[]): void {
  const seen = new Set<string>()
  const problems: Problem[] = []
  for (const id of ids) {
    const key = `${id.kind} ${id.name}`
    if (seen.has(key)) {
      const field = id.name === SETTINGS_NAME ? '' : 'name'
      problems.push({ ...id, field, reason: 'appears more than once in the request' })
    }
    seen.add(key)
  }
  if (problems.length > 0) throw new Refusal('invalid', problems)
}

function listed(names: readonly string[]): string {
  const shown = names.slice(0, 5).join(', ')
  return names.length > 5 ? `${shown} and ${names.length - 5} more` : shown
}

/** What is deleted because a set of documents that looks after some labels no longer has it. */
import { idOf } from '../model/configuration.ts'
import type { Document } from '../model/documents.ts'
import { type Change, documentId } from './changes.ts'
import type { PublishedState } from './published-state.ts'

/** Settings are never deleted. */
export function prunings(
  documents: readonly Document[],
  selector: Readonly<Record<string, string>>,
  state: PublishedState,
): Change[] {
  const kept = new Set(
    documents.map((document) => {
      const { kind, name } = documentId(document)
      return `${kind} ${name}`
    }),
  )
  return Array.from(state.records, ({ resource }) => resource)
    .filter(({ kind, spec }) => kind !== 'settings' && hasLabels(spec.labels, selector))
    .map(idOf)
    .filter(({ kind, name }) => !kept.has(`${kind} ${name}`))
    .map((id) => ({ op: 'remove', ...id }))
}

function hasLabels(
  labels: Readonly<Record<string, string>>,
  wanted: Readonly<Record<string, string>>,
): boolean {
  return Object.entries(wanted).every(([key, value]) => labels[key] === value)
}

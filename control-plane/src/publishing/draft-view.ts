/** A draft on top of the newest version, brought together by resource and field. */
import { isDeepStrictEqual } from 'node:util'
import type { ResourceId } from '../model/configuration.ts'
import { readStored } from '../model/documents.ts'
import type { Kind, Problem } from '../model/kinds.ts'
import type { Resource } from '../model/resources.ts'
import { mergeThreeWays } from '../model/three-way-merge.ts'
import type { DraftChangeRow } from '../store/drafts.ts'
import type { PublishedState } from './published-state.ts'

/** What a draft makes of one resource as it is published now. */
export interface DraftChange {
  readonly id: ResourceId
  readonly updatedAtMs: number
  /** undefined: it is removed. */
  readonly resource: Resource | undefined
  /** Fields that were changed in the draft and in what was published since, each to something else. */
  readonly conflicts: readonly string[]
}

export function readChange(row: DraftChangeRow, state: PublishedState): DraftChange {
  // The cast holds: drafts.ts wrote the row.
  const id: ResourceId = { kind: row.kind as Kind, name: row.name }
  const base = row.base === null ? undefined : readStored(id.kind, row.base)
  const ours = row.body === null ? undefined : readStored(id.kind, row.body)
  const theirs = state.find(id)?.resource
  return { id, updatedAtMs: row.updated_at_ms, ...rebased(base, ours, theirs) }
}

export function conflictProblem({ id }: DraftChange, field: string): Problem {
  return {
    ...id,
    field,
    reason: 'was changed in the draft and in a version that was published since',
    hint: 'write the resource in the draft again, as it should become',
  }
}

function rebased(
  base: Resource | undefined,
  ours: Resource | undefined,
  theirs: Resource | undefined,
): Pick<DraftChange, 'resource' | 'conflicts'> {
  if (isDeepStrictEqual(base, theirs) || isDeepStrictEqual(ours, theirs)) {
    return { resource: ours, conflicts: [] }
  }
  // Half of one certificate and half of another one is none.
  if (ours === undefined || theirs === undefined || ours.kind === 'certificate') {
    return { resource: ours, conflicts: [''] }
  }
  const { value, conflicts } = mergeThreeWays(base?.spec, ours.spec, theirs.spec)
  // The cast holds: both sides are of this kind, and fields were taken whole.
  return { resource: { kind: ours.kind, spec: value } as Resource, conflicts }
}

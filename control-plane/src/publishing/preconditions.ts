/** Entity tags of resources, and writes that are made only while a resource is as its writer saw it. */
import { createHash } from 'node:crypto'
import type { ResourceId } from '../model/configuration.ts'
import { describe } from '../model/kinds.ts'
import type { PublishedState, ResourceRecord } from './published-state.ts'

export interface Precondition {
  readonly id: ResourceId
  /** Any of these tags; 'present': there is one; 'absent': there is none. */
  readonly expected: readonly string[] | 'present' | 'absent'
}

export class PreconditionFailed extends Error {
  /** As it is now; undefined: there is none. */
  readonly current: ResourceRecord | undefined
  readonly id: ResourceId

  constructor(id: ResourceId, current: ResourceRecord | undefined) {
    const what = describe(id.kind, id.name)
    super(
      current === undefined ? `there is no ${what}` : `${what} is not as the request expects it`,
    )
    this.id = id
    this.current = current
  }
}

/** Strong (RFC 9110 section 8.8.1). undefined: settings that were never written. */
export function entityTagOf(record: ResourceRecord | undefined): string {
  if (record === undefined) return '"0"'
  const { resource, revision, createdAtMs, updatedAtMs } = record
  const shown = JSON.stringify([resource, revision, createdAtMs, updatedAtMs])
  return `"${createHash('sha256').update(shown).digest('base64url').slice(0, 22)}"`
}

export function requirePreconditions(
  preconditions: readonly Precondition[],
  state: PublishedState,
): void {
  for (const { id, expected } of preconditions) {
    const current = state.find(id)
    if (!isMet(id, expected, current)) throw new PreconditionFailed(id, current)
  }
}

function isMet(
  { kind }: ResourceId,
  expected: Precondition['expected'],
  current: ResourceRecord | undefined,
): boolean {
  const isPresent = current !== undefined || kind === 'settings'
  if (expected === 'absent') return !isPresent
  if (expected === 'present') return isPresent
  return isPresent && expected.includes(entityTagOf(current))
}

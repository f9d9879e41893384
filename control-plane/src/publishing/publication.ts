/** What is asked of the publisher, and what became of it. */
import { isDeepStrictEqual } from 'node:util'
import type { Origin } from '../model/audit-entry.ts'
import { idOf, type ResourceId } from '../model/configuration.ts'
import type { FieldDifference } from '../model/difference.ts'
import type { Problem } from '../model/kinds.ts'
import type { Resource } from '../model/resources.ts'
import type { StagePlan } from '../model/stage-plan.ts'
import type { Change } from './changes.ts'
import type { Guard } from './guard.ts'
import type { PrivateKey } from './key-ring.ts'
import type { Precondition } from './preconditions.ts'
import type { Candidate } from './preparation.ts'
import type { PublishedState } from './published-state.ts'
import type { Alongside } from './version-records.ts'

export interface ChangeRequest {
  readonly author: string
  /** How the author came; left out: by the control plane itself. */
  readonly origin?: Origin
  readonly message: string
  /** As a function: decided by the newest state, in the turn of this request. */
  readonly changes: readonly Change[] | ((state: PublishedState) => readonly Change[])
  readonly preconditions?: readonly Precondition[]
  /** Private keys of certificates that are restored, where they may not be stored yet. */
  readonly keys?: readonly PrivateKey[]
  /** What is stored in the transaction of the version, or not at all. */
  readonly alongside?: Alongside
  /** Left out: everything may be changed. */
  readonly guard?: Guard
  /** To some nodes first. */
  readonly stage?: StagePlan | undefined
}

/** Who asks. */
export type By = Pick<ChangeRequest, 'author' | 'origin'>

export interface ChangeOutcome extends ResourceId {
  readonly change: 'created' | 'replaced' | 'unchanged' | 'removed'
}

export interface Publication {
  /** The version that holds the changes; 0: nothing was ever published. */
  readonly version: number
  readonly changes: readonly ChangeOutcome[]
  /** About the resources that were written. */
  readonly warnings: readonly Problem[]
}

export interface PlannedOutcome extends ChangeOutcome {
  readonly fields: readonly FieldDifference[]
}

/** What a request would do if it were published now. */
export interface Plan {
  /** The version that the changes would be made to; 0: there is none. */
  readonly baseVersion: number
  readonly changes: readonly PlannedOutcome[]
  readonly warnings: readonly Problem[]
}

/** A request against the newest state, checked, and not made yet. */
export interface Decision {
  readonly candidates: readonly Candidate[]
  /** Of the candidates, those that are not what there is already. */
  readonly put: readonly Candidate[]
  readonly removed: readonly ResourceId[]
  readonly keys: readonly PrivateKey[]
  readonly outcomes: readonly ChangeOutcome[]
  readonly warnings: readonly Problem[]
}

export interface ResolvedResources {
  readonly resources: readonly Resource[]
  readonly removed: readonly ResourceId[]
}

export function isUnchanged({ resource, digest }: Candidate, before: PublishedState): boolean {
  const existing = before.find(idOf(resource))
  if (existing === undefined || !Buffer.from(existing.digest).equals(digest)) return false
  // Labels, and where a certificate came from, do not reach the nodes, so the digest does not tell.
  return isDeepStrictEqual(existing.resource.spec, resource.spec)
}

export function outcomeOf(candidate: Candidate, before: PublishedState): ChangeOutcome {
  const id = idOf(candidate.resource)
  if (before.find(id) === undefined) return { ...id, change: 'created' }
  return { ...id, change: isUnchanged(candidate, before) ? 'unchanged' : 'replaced' }
}

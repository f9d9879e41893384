/** Who may change which resource is decided elsewhere; here it is asked, before anything is stored. */
import { idOf, type ResourceId } from '../model/configuration.ts'
import type { Problem } from '../model/kinds.ts'
import { limits } from '../model/limits.ts'
import { Refusal } from '../model/refusal.ts'
import type { Resource } from '../model/resources.ts'
import type { PublishedState } from './published-state.ts'

/** Why the resource may not be made `after` of `before`; undefined: it may. */
export type Guard = (
  id: ResourceId,
  before: Resource | undefined,
  after: Resource | undefined,
) => Problem | undefined

/** Refuses all of it when one change is not allowed. */
export function requirePermission(
  guard: Guard,
  { put, removed }: { readonly put: readonly Resource[]; readonly removed: readonly ResourceId[] },
  state: PublishedState,
): void {
  const changed = [
    ...put.map((resource) => ({ id: idOf(resource), after: resource })),
    ...removed.map((id) => ({ id, after: undefined })),
  ]
  const problems = changed.flatMap(
    ({ id, after }) => guard(id, state.find(id)?.resource, after) ?? [],
  )
  if (problems.length > 0) throw new Refusal('forbidden', problems.slice(0, limits.problemsMax))
}

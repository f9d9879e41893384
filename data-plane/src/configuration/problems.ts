/** How compile says that an object cannot be used: object, field and reason, as the wire has them. */
import type { Problem, ResourceKind } from '@sluice/proto'

export function problem(kind: ResourceKind, name: string, field: string, reason: string): Problem {
  return { object: { kind, name }, field, reason }
}

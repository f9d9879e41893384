/** What a token may do of what its role may: kinds of things, reading or writing, resources by their labels. */
import { KINDS, type Kind } from '../model/kinds.ts'
import { isSelected, type Labels } from '../model/labels.ts'
import type { Resource } from '../model/resources.ts'

export const SCOPE_KINDS = [
  ...KINDS,
  /** Versions, drafts and stages as a whole. */
  'configuration',
  'node',
  'join-token',
  'traffic',
  'log',
  /** Users, sessions of others, and API tokens. */
  'user',
  'audit',
] as const
export type ScopeKind = (typeof SCOPE_KINDS)[number]
export type Access = 'read' | 'write'

export interface Scope {
  /** Empty: all. */
  readonly kinds: readonly ScopeKind[]
  /** Writing comes with reading. */
  readonly access: Access
  /** What resources must carry, before and after, to be written. */
  readonly selector: Labels
}

/** What a route reads or writes. */
export type AccessKind =
  | ScopeKind
  /** Several resources, each looked at by itself before it is written. */
  | 'resources'
  /** What everybody may know, and their own session. */
  | 'status'

/** Whether one of the scopes opens a route, as far as that can be told before it is known what it changes. */
export function covers(scopes: readonly Scope[], kind: AccessKind, access: Access): boolean {
  if (kind === 'status') return true
  // Whoever makes users or tokens has what these have, which would be more than the scope.
  if (kind === 'user' && access === 'write') return false
  return scopes.some((scope) => {
    if (access === 'write' && scope.access === 'read') return false
    if (kind === 'resources') return KINDS.some((one) => includes(scope, one))
    const isResource = KINDS.some((one) => one === kind)
    const isLimited = access === 'write' && !isResource && Object.keys(scope.selector).length > 0
    return includes(scope, kind) && !isLimited
  })
}

/** Whether one of the scopes lets a resource be made `after` of `before`; undefined: there is none there. */
export function coversChange(
  scopes: readonly Scope[],
  kind: Kind,
  before: Resource | undefined,
  after: Resource | undefined,
): boolean {
  const states = [before, after].filter((resource) => resource !== undefined)
  return scopes.some(
    (scope) =>
      scope.access === 'write' &&
      includes(scope, kind) &&
      states.every(({ spec }) => isSelected(scope.selector, spec.labels)),
  )
}

function includes({ kinds }: Scope, kind: ScopeKind): boolean {
  return kinds.length === 0 || kinds.includes(kind)
}

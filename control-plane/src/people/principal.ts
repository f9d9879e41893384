/** Who makes a request, and what their role comes to. */

import type { Scope } from './scopes.ts'

/** Each may do what those after it may. */
export const ROLES = ['admin', 'editor', 'viewer'] as const
export type Role = (typeof ROLES)[number]

export interface Principal {
  /** Of the user, or token:NAME; the author of what they publish. */
  readonly name: string
  readonly via: 'admin-token' | 'session' | 'api-token'
  readonly role: Role
  /** Left out: everything that the role may. */
  readonly scopes?: readonly Scope[]
  /** Of the session that the request came with. */
  readonly sessionId?: string
}

/** What whoever has the admin token is called. */
export const ADMIN_NAME = 'admin'

/** Names that versions bear which no user published. */
export const reservedNames: readonly string[] = [ADMIN_NAME, 'control-plane']

export function isAtLeast(role: Role, least: Role): boolean {
  return ROLES.indexOf(role) <= ROLES.indexOf(least)
}

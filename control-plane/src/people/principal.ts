/** Who makes a request, and what their role comes to. */

/** Each may do what those after it may. */
export const ROLES = ['admin', 'editor', 'viewer'] as const
export type Role = (typeof ROLES)[number]

export interface Principal {
  /** Of the user; the author of what they publish. */
  readonly name: string
  readonly via: 'admin-token' | 'session'
  readonly role: Role
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

/** The kinds of resources, and how a problem with one is told. */

export const KINDS = ['entry-point', 'router', 'service', 'certificate', 'settings'] as const
export type Kind = (typeof KINDS)[number]

/** The one settings object has no name of its own; problems and storage call it this. */
export const SETTINGS_NAME = 'settings'

/** What is wrong, or deserves attention, in one field of one resource. */
export interface Problem {
  readonly kind: Kind | ''
  readonly name: string
  /** Path within the resource, like "servers[1].url"; empty: the resource as a whole. */
  readonly field: string
  /** Completes a sentence that begins with the field: "is not a CIDR range". */
  readonly reason: string
  /** What could be done about it, where that can be told. */
  readonly hint?: string
}

const labels: Record<Kind, string> = {
  'entry-point': 'entry point',
  router: 'router',
  service: 'service',
  certificate: 'certificate',
  settings: 'settings',
}

/** The resource as a sentence calls it: entry point "web". */
export function describe(kind: Kind, name: string): string {
  return kind === 'settings' ? labels.settings : `${labels[kind]} "${name}"`
}

export function describeProblem({ kind, name, field, reason }: Problem): string {
  const place = kind === '' ? 'request' : describe(kind, name)
  return field === '' ? `${place} ${reason}` : `${place}: ${field} ${reason}`
}

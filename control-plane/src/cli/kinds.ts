/** The kinds of resources and what people may call them on the command line. */
import { InvalidArgumentError } from 'commander'

export interface ResourceKind {
  /** As in documents and problems. */
  readonly kind: string
  /** As in the API's paths. */
  readonly collection: string
}

export const settingsKind: ResourceKind = { kind: 'settings', collection: 'settings' }

const kinds: readonly ResourceKind[] = [
  { kind: 'entry-point', collection: 'entry-points' },
  { kind: 'router', collection: 'routers' },
  { kind: 'service', collection: 'services' },
  { kind: 'certificate', collection: 'certificates' },
  settingsKind,
]

export const resourceKinds: readonly string[] = kinds.map(({ kind }) => kind)

/** Takes the singular and the plural. */
export function parseKind(text: string): ResourceKind {
  const found = kinds.find(({ kind, collection }) => text === kind || text === collection)
  if (found === undefined) {
    const names = kinds.map(({ collection }) => collection).join(', ')
    throw new InvalidArgumentError(`It is not one of ${names}.`)
  }
  return found
}

/** The settings always exist. */
export function parseDeletableKind(text: string): ResourceKind {
  const found = parseKind(text)
  if (found === settingsKind) {
    throw new InvalidArgumentError('Settings always exist; apply other values instead.')
  }
  return found
}

/** The changes that make the newest state equal to a set of resources. */
import { isDeepStrictEqual } from 'node:util'
import { idOf } from '../model/configuration.ts'
import type { Resource } from '../model/resources.ts'
import type { Change } from './changes.ts'
import type { PublishedState } from './published-state.ts'

/** Settings stay where `wanted` has none: they always exist. */
export function changesTo(wanted: readonly Resource[], state: PublishedState): Change[] {
  const keys = new Set(wanted.map((resource) => keyOf(resource)))
  const changes: Change[] = []
  for (const { resource } of state.records) {
    if (resource.kind === 'settings' || keys.has(keyOf(resource))) continue
    changes.push({ op: 'remove', ...idOf(resource) })
  }
  for (const resource of wanted) {
    const current = state.find(idOf(resource))?.resource
    if (!isDeepStrictEqual(current, resource)) changes.push({ op: 'restore', resource })
  }
  return changes
}

function keyOf(resource: Resource): string {
  const { kind, name } = idOf(resource)
  return `${kind} ${name}`
}

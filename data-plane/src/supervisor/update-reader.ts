/** Makes a candidate of an update from the control plane: whole, or a delta on what runs. Checks the hash. */
import { type Problem, ResourceKind, type Update } from '@sluice/proto'
import { problem } from '../configuration/problems.ts'
import { reasonOf } from './errors.ts'
import { ResourceSet } from './resource-set.ts'
import type { Candidate, RunningVersion } from './version-switch.ts'

export type UpdateReading =
  | { readonly kind: 'candidate'; readonly candidate: Candidate }
  /** The delta is for another base, or does not lead to its hash. */
  | { readonly kind: 'full-needed' }
  | { readonly kind: 'refused'; readonly problem: Problem }

export function readUpdate(update: Update, running: RunningVersion | undefined): UpdateReading {
  const { content } = update
  if (content === undefined) return refused('it has no content')
  try {
    if (content.$case === 'full') {
      const resources = ResourceSet.fromSnapshot(content.value)
      if (resources.hash() !== update.hash) return refused('its content does not fit its hash')
      return candidate(update, resources, content.value.emptyOnPurpose)
    }
    const isOnBase = running?.version === update.baseVersion && running.hash === update.baseHash
    if (!isOnBase) return { kind: 'full-needed' }
    const resources = running.resources.withDelta(content.value)
    if (resources.hash() !== update.hash) return { kind: 'full-needed' }
    return candidate(update, resources, content.value.emptyOnPurpose)
  } catch (error) {
    return refused(reasonOf(error))
  }
}

function candidate(
  { version, hash }: Update,
  resources: ResourceSet,
  isEmptyOnPurpose: boolean,
): UpdateReading {
  return { kind: 'candidate', candidate: { version, hash, resources, isEmptyOnPurpose } }
}

function refused(reason: string): UpdateReading {
  const text = `the update cannot be used: ${reason}`
  return { kind: 'refused', problem: problem(ResourceKind.UNSPECIFIED, '', '', text) }
}

/** What differs between two states of the configuration: by resource, and within it by field. */
import { isDeepStrictEqual } from 'node:util'
import { idOf, type ResourceId } from './configuration.ts'
import { KINDS } from './kinds.ts'
import type { Resource } from './resources.ts'

export interface FieldDifference {
  /** Path within the resource, like "servers[1].url". */
  readonly field: string
  /** Left out where the field was not there. */
  readonly before?: unknown
  /** Left out where the field is no more. */
  readonly after?: unknown
}

export interface ResourceDifference extends ResourceId {
  readonly change: 'added' | 'changed' | 'removed'
  readonly fields: readonly FieldDifference[]
}

/** In the order of kinds, then of names. What is equal on both sides may be left out of both. */
export function differences(
  before: Iterable<Resource>,
  after: Iterable<Resource>,
): ResourceDifference[] {
  const earlier = new Map(Array.from(before, (resource) => [keyOf(resource), resource]))
  const later = new Map(Array.from(after, (resource) => [keyOf(resource), resource]))
  const found: ResourceDifference[] = []
  for (const key of new Set([...earlier.keys(), ...later.keys()])) {
    const difference = differenceOf(earlier.get(key), later.get(key))
    if (difference !== undefined) found.push(difference)
  }
  return found.sort(compareIds)
}

/** undefined: the two are equal. */
export function differenceOf(
  before: Resource | undefined,
  after: Resource | undefined,
): ResourceDifference | undefined {
  const fields = fieldDifferences(shownFields(before), shownFields(after))
  const resource = after ?? before
  if (resource === undefined || (fields.length === 0 && before && after)) return undefined
  const { kind, name } = idOf(resource)
  if (before === undefined) return { kind, name, change: 'added', fields }
  return { kind, name, change: after === undefined ? 'removed' : 'changed', fields }
}

/** Objects are compared field by field, lists of equal length item by item, all else as a whole. */
export function fieldDifferences(before: unknown, after: unknown, field = ''): FieldDifference[] {
  if (isDeepStrictEqual(before, after)) return []
  if (isRecord(before) && isRecord(after)) {
    const keys = new Set([...Object.keys(before), ...Object.keys(after)])
    return [...keys].flatMap((key) =>
      fieldDifferences(before[key], after[key], field === '' ? key : `${field}.${key}`),
    )
  }
  if (Array.isArray(before) && Array.isArray(after) && before.length === after.length) {
    return before.flatMap((item, index) =>
      fieldDifferences(item, after[index], `${field}[${index}]`),
    )
  }
  return [{ field, ...(before !== undefined && { before }), ...(after !== undefined && { after }) }]
}

function shownFields(resource: Resource | undefined): object {
  if (resource === undefined) return {}
  const { publicKeyId: _, ...shown } = { publicKeyId: '', ...resource.spec }
  return shown
}

function keyOf(resource: Resource): string {
  const { kind, name } = idOf(resource)
  return `${kind} ${name}`
}

function compareIds(left: ResourceId, right: ResourceId): number {
  const byKind = KINDS.indexOf(left.kind) - KINDS.indexOf(right.kind)
  if (byKind !== 0) return byKind
  return left.name < right.name ? -1 : 1
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

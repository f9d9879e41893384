/** Brings together what two sides made of one value. Fields that only one side changed are taken from it. */
import { isDeepStrictEqual } from 'node:util'

export interface Merge {
  readonly value: unknown
  /** Fields that both sides changed, and not to the same; `value` has ours. */
  readonly conflicts: readonly string[]
}

/** Objects are merged field by field; lists and all else only as a whole. */
export function mergeThreeWays(base: unknown, ours: unknown, theirs: unknown, field = ''): Merge {
  if (isDeepStrictEqual(theirs, base) || isDeepStrictEqual(theirs, ours)) {
    return { value: ours, conflicts: [] }
  }
  if (isDeepStrictEqual(ours, base)) return { value: theirs, conflicts: [] }
  if (!isRecord(ours) || !isRecord(theirs)) return { value: ours, conflicts: [field] }
  const from = isRecord(base) ? base : {}
  const merged = new Map<string, unknown>()
  const conflicts: string[] = []
  for (const key of new Set([...Object.keys(ours), ...Object.keys(theirs)])) {
    const path = field === '' ? key : `${field}.${key}`
    const part = mergeThreeWays(from[key], ours[key], theirs[key], path)
    if (part.value !== undefined) merged.set(key, part.value)
    conflicts.push(...part.conflicts)
  }
  return { value: Object.fromEntries(merged), conflicts }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

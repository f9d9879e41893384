/** If-Match and If-None-Match (RFC 9110 section 13.1) as preconditions of a change. */
import type { IncomingHttpHeaders } from 'node:http'
import type { ResourceId } from '../model/configuration.ts'
import type { Precondition } from '../publishing/preconditions.ts'

export function preconditionsOf(headers: IncomingHttpHeaders, id: ResourceId): Precondition[] {
  const found: Precondition[] = []
  const match = headers['if-match']
  if (match !== undefined) {
    found.push({ id, expected: match.trim() === '*' ? 'present' : tagsOf(match) })
  }
  if (headers['if-none-match']?.trim() === '*') found.push({ id, expected: 'absent' })
  return found
}

/** Weak tags never match: If-Match compares strongly. */
function tagsOf(list: string): string[] {
  return [...list.matchAll(/(W\/)?("[^"]*")/g)].flatMap(([, weak, tag]) =>
    weak === undefined && tag !== undefined ? [tag] : [],
  )
}

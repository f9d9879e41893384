/**
 * What the rules object to in the documents of a list that have the form of their schema, for when others have not:
 * who has to mend a list wants to know all at once. Certificates are left out, as nothing is issued or read for it.
 */
import { checkWritten } from './check-references.ts'
import { checkResource } from './check-resource.ts'
import type { Configuration, ResourceId } from './configuration.ts'
import { fromFlat, namedInList } from './documents.ts'
import type { Problem } from './kinds.ts'
import { limits } from './limits.ts'
import type { Resource } from './resources.ts'
import type { SchemaProblem } from './strict-schema.ts'

/** `configuration`: what the list would be added to; undefined: what it refers to cannot be told. */
export function ruleProblemsIn(
  body: unknown,
  found: readonly SchemaProblem[],
  configuration: Configuration | undefined,
): Problem[] {
  const resources: Resource[] = []
  const left: ResourceId[] = []
  for (const { index, kind, name, document } of namedInList(body)) {
    const isMalformed = found.some(({ field }) => isWithin(field, index))
    if (isMalformed || kind === 'certificate') left.push({ kind, name })
    // The cast holds: without a problem it passed the schema, and only certificates are other resources than documents.
    else resources.push(fromFlat(document as { kind: typeof kind }) as Resource)
  }
  const problems = resources.flatMap(checkResource)
  if (configuration !== undefined) {
    problems.push(...checkWritten(configuration.with(resources, []), resources, left))
  }
  return problems.slice(0, limits.problemsMax)
}

function isWithin(field: string, index: number): boolean {
  const place = `resources[${index}]`
  return field === place || field.startsWith(`${place}.`)
}

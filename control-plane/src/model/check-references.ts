/** The rules between resources, each kept to map look-ups: a change is checked in a turn of the event loop. */

import { closest } from './closest.ts'
import type { Configuration, ResourceId } from './configuration.ts'
import { addressesCollide } from './fields.ts'
import { describe, type Problem } from './kinds.ts'
import { limits } from './limits.ts'
import type { Resource } from './resources.ts'

/**
 * Every reference to something that is not there, and every address that two entry points want. What was
 * `refused` for another reason counts as being there: its own problems are told already.
 */
export function checkReferences(
  configuration: Configuration,
  refused: readonly ResourceId[] = [],
): Problem[] {
  return [
    ...danglingReferences(configuration, references(configuration), refused),
    ...collidingAddresses(configuration),
  ]
}

/** The same for a configuration that had no problem before some resources were written and none was removed. */
export function checkWritten(
  configuration: Configuration,
  written: readonly Resource[],
  refused: readonly ResourceId[],
): Problem[] {
  const found = written.flatMap((resource) => [...referencesOf(resource)])
  return [
    ...danglingReferences(configuration, found, refused),
    ...collidingAddresses(configuration),
  ]
}

/** The references to some resources, each as a problem of the resource that refers. */
export function referencesTo(
  configuration: Configuration,
  targets: readonly ResourceId[],
): Problem[] {
  const wanted = new Set(targets.map(keyOf))
  return [...references(configuration)]
    .filter(({ to }) => wanted.has(keyOf(to)))
    .map(({ from, field, to }) => ({
      ...from,
      field,
      reason: `refers to ${describe(to.kind, to.name)}`,
    }))
}

interface ResourceReference {
  readonly from: ResourceId
  readonly field: string
  readonly to: ResourceId
}

function* references(configuration: Configuration): Generator<ResourceReference> {
  for (const spec of configuration.entryPoints.values()) {
    yield* referencesOf({ kind: 'entry-point', spec })
  }
  for (const spec of configuration.routers.values()) yield* referencesOf({ kind: 'router', spec })
}

function* referencesOf(resource: Resource): Generator<ResourceReference> {
  switch (resource.kind) {
    case 'entry-point': {
      const { name, defaultCertificate } = resource.spec
      if (defaultCertificate === undefined) return
      yield {
        from: { kind: 'entry-point', name },
        field: 'defaultCertificate',
        to: { kind: 'certificate', name: defaultCertificate },
      }
      return
    }
    case 'router': {
      const { name, service, entryPoints } = resource.spec
      const from = { kind: 'router', name } as const
      yield { from, field: 'service', to: { kind: 'service', name: service } }
      for (const [index, entryPoint] of entryPoints.entries()) {
        const to = { kind: 'entry-point', name: entryPoint } as const
        yield { from, field: `entryPoints[${index}]`, to }
      }
      return
    }
    case 'service':
    case 'certificate':
    case 'settings':
      return
  }
}

function keyOf({ kind, name }: ResourceId): string {
  return `${kind} ${name}`
}

function danglingReferences(
  configuration: Configuration,
  found: Iterable<ResourceReference>,
  refused: readonly ResourceId[],
): Problem[] {
  const problems: Problem[] = []
  for (const { from, field, to } of found) {
    if (configuration.has(to)) continue
    if (refused.some(({ kind, name }) => kind === to.kind && name === to.name)) continue
    problems.push({
      ...from,
      field,
      reason: `refers to ${describe(to.kind, to.name)}, which does not exist`,
      // Looking for a close name among all is slow, and this many hints help nobody.
      ...(problems.length < limits.closeNamesMax && { hint: hintFor(to, configuration) }),
    })
  }
  return problems
}

function hintFor({ kind, name }: ResourceId, configuration: Configuration): string {
  const close = closest(name, configuration.names(kind))
  return close === undefined
    ? `create ${describe(kind, name)} first, or in the same request`
    : `did you mean "${close}"?`
}

function collidingAddresses({ entryPoints }: Configuration): Problem[] {
  const all = [...entryPoints.values()]
  if (all.length > limits.entryPointsMax) {
    const reason = `would be one of ${all.length}; a configuration has at most ${limits.entryPointsMax}`
    return [{ kind: 'entry-point', name: all.at(-1)?.name ?? '', field: '', reason }]
  }
  return all.flatMap(({ name, address }, index) =>
    all
      .slice(0, index)
      .filter((other) => addressesCollide(address, other.address))
      .map((other) => ({
        kind: 'entry-point' as const,
        name,
        field: 'address',
        reason: `"${address}" collides with that of ${describe('entry-point', other.name)} ("${other.address}")`,
        hint: 'give one of them another port',
      })),
  )
}

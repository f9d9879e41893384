/** The whole configuration at one moment: immutable; each is made of the one before by what changes. */
import { LayeredMap } from '@sluice/matching'
import { nameOf } from './check-resource.ts'
import type { Kind } from './kinds.ts'
import type { Certificate, EntryPoint, Resource, Router, Service, Settings } from './resources.ts'

export interface ResourceId {
  readonly kind: Kind
  readonly name: string
}

type NamedKind = Exclude<Kind, 'settings'>
type SpecOf<K extends NamedKind> = Extract<Resource, { kind: K }>['spec']

interface Parts {
  readonly entryPoints: LayeredMap<EntryPoint>
  readonly routers: LayeredMap<Router>
  readonly services: LayeredMap<Service>
  readonly certificates: LayeredMap<Certificate>
  readonly settings: Settings | undefined
}

export const DEFAULT_SETTINGS: Settings = Object.freeze({
  labels: Object.freeze({}),
  logs: Object.freeze({ perSecondPerNode: 10 }),
  versions: Object.freeze({ countMax: 1_000, daysMax: 365 }),
})

export class Configuration implements Parts {
  static readonly empty = new Configuration({
    entryPoints: LayeredMap.of(),
    routers: LayeredMap.of(),
    services: LayeredMap.of(),
    certificates: LayeredMap.of(),
    settings: undefined,
  })

  readonly entryPoints: LayeredMap<EntryPoint>
  readonly routers: LayeredMap<Router>
  readonly services: LayeredMap<Service>
  readonly certificates: LayeredMap<Certificate>
  /** Undefined until the first version. */
  readonly settings: Settings | undefined

  private constructor(parts: Parts) {
    this.entryPoints = parts.entryPoints
    this.routers = parts.routers
    this.services = parts.services
    this.certificates = parts.certificates
    this.settings = parts.settings
  }

  get counts() {
    return {
      entryPoints: this.entryPoints.size,
      routers: this.routers.size,
      services: this.services.size,
      certificates: this.certificates.size,
    }
  }

  has({ kind, name }: ResourceId): boolean {
    switch (kind) {
      case 'entry-point':
        return this.entryPoints.has(name)
      case 'router':
        return this.routers.has(name)
      case 'service':
        return this.services.has(name)
      case 'certificate':
        return this.certificates.has(name)
      case 'settings':
        return this.settings !== undefined
    }
  }

  names(kind: Kind): Iterable<string> {
    switch (kind) {
      case 'entry-point':
        return this.entryPoints.keys()
      case 'router':
        return this.routers.keys()
      case 'service':
        return this.services.keys()
      case 'certificate':
        return this.certificates.keys()
      case 'settings':
        return []
    }
  }

  *resources(): Generator<Resource> {
    for (const spec of this.entryPoints.values()) yield { kind: 'entry-point', spec }
    for (const spec of this.routers.values()) yield { kind: 'router', spec }
    for (const spec of this.services.values()) yield { kind: 'service', spec }
    for (const spec of this.certificates.values()) yield { kind: 'certificate', spec }
    if (this.settings !== undefined) yield { kind: 'settings', spec: this.settings }
  }

  /** The configuration with some resources put in or replaced, and others taken out. */
  with(put: readonly Resource[], removed: readonly ResourceId[] = []): Configuration {
    const change = { put, removed }
    const settings = put.findLast(({ kind }) => kind === 'settings')
    return new Configuration({
      entryPoints: changed('entry-point', this.entryPoints, change),
      routers: changed('router', this.routers, change),
      services: changed('service', this.services, change),
      certificates: changed('certificate', this.certificates, change),
      settings: settings?.kind === 'settings' ? settings.spec : this.settings,
    })
  }
}

interface Change {
  readonly put: readonly Resource[]
  readonly removed: readonly ResourceId[]
}

function changed<K extends NamedKind>(
  kind: K,
  before: LayeredMap<SpecOf<K>>,
  { put, removed }: Change,
): LayeredMap<SpecOf<K>> {
  const come = put
    .filter((resource) => resource.kind === kind)
    // The cast holds for what was filtered.
    .map(({ spec }) => spec as SpecOf<K>)
    .map((spec) => [spec.name, spec] as const)
  const gone = removed.filter((id) => id.kind === kind).map(({ name }) => name)
  return come.length + gone.length === 0 ? before : before.with(come, gone)
}

/** Names are unique within a kind, and neither has a space. */
export function keyOf({ kind, name }: ResourceId): string {
  return `${kind} ${name}`
}

/** The other way round. */
export function idOfKey(key: string): ResourceId {
  const [kind = '', name = ''] = key.split(' ')
  // The cast holds for what keyOf made.
  return { kind: kind as Kind, name }
}

export function idOf(resource: Resource): ResourceId {
  return { kind: resource.kind, name: nameOf(resource) }
}

/** The whole configuration at one moment: immutable, with a copy made for each change. */
import { nameOf } from './check-resource.ts'
import type { Kind } from './kinds.ts'
import type { Certificate, EntryPoint, Resource, Router, Service, Settings } from './resources.ts'

export interface ResourceId {
  readonly kind: Kind
  readonly name: string
}

interface Parts {
  readonly entryPoints: ReadonlyMap<string, EntryPoint>
  readonly routers: ReadonlyMap<string, Router>
  readonly services: ReadonlyMap<string, Service>
  readonly certificates: ReadonlyMap<string, Certificate>
  readonly settings: Settings | undefined
}

export const DEFAULT_SETTINGS: Settings = Object.freeze({
  labels: Object.freeze({}),
  logs: Object.freeze({ perSecondPerNode: 10 }),
  versions: Object.freeze({ countMax: 1_000, daysMax: 365 }),
})

export class Configuration implements Parts {
  static readonly empty = new Configuration({
    entryPoints: new Map(),
    routers: new Map(),
    services: new Map(),
    certificates: new Map(),
    settings: undefined,
  })

  readonly entryPoints: ReadonlyMap<string, EntryPoint>
  readonly routers: ReadonlyMap<string, Router>
  readonly services: ReadonlyMap<string, Service>
  readonly certificates: ReadonlyMap<string, Certificate>
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
    const entryPoints = new Map(this.entryPoints)
    const routers = new Map(this.routers)
    const services = new Map(this.services)
    const certificates = new Map(this.certificates)
    const named = {
      'entry-point': entryPoints,
      router: routers,
      service: services,
      certificate: certificates,
    }
    let settings = this.settings
    for (const { kind, name } of removed) if (kind !== 'settings') named[kind].delete(name)
    for (const resource of put) {
      switch (resource.kind) {
        case 'entry-point':
          entryPoints.set(resource.spec.name, resource.spec)
          break
        case 'router':
          routers.set(resource.spec.name, resource.spec)
          break
        case 'service':
          services.set(resource.spec.name, resource.spec)
          break
        case 'certificate':
          certificates.set(resource.spec.name, resource.spec)
          break
        case 'settings':
          settings = resource.spec
      }
    }
    return new Configuration({ entryPoints, routers, services, certificates, settings })
  }
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

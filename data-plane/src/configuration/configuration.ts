/**
 * The resources of a version, by kind and name. It goes from version to version by changes: each is checked
 * against the whole before any of it is made, and both cost what the change brings and not what is there.
 */
import { type Problem, type ResourceKey, ResourceKind } from '@sluice/proto'
import { problem } from './problems.ts'
import {
  type CertificatePart,
  type EntryPointPart,
  type ResourcePart,
  type RouterPart,
  readResource,
  type ServicePart,
} from './resource-part.ts'

const LOGS_PER_SECOND_DEFAULT = 10

export interface ConfigurationChange {
  /** What comes under the same name replaces what was there, removed or not. */
  readonly removed: readonly ResourceKey[]
  readonly come: readonly ResourcePart[]
}

interface NamedParts {
  readonly entryPoint: EntryPointPart
  readonly router: RouterPart
  readonly service: ServicePart
  readonly certificate: CertificatePart
}

type NamedKind = keyof NamedParts
type NamedPart = NamedParts[NamedKind]

export class Configuration {
  readonly parts: { readonly [K in NamedKind]: ReadonlyMap<string, NamedParts[K]> }
  /** The same maps, to be changed. */
  readonly #parts: Readonly<Record<NamedKind, Map<string, NamedPart>>>
  #logsPerSecondPerNode = LOGS_PER_SECOND_DEFAULT

  constructor() {
    const parts = {
      entryPoint: new Map<string, EntryPointPart>(),
      router: new Map<string, RouterPart>(),
      service: new Map<string, ServicePart>(),
      certificate: new Map<string, CertificatePart>(),
    }
    this.parts = parts
    this.#parts = parts as Record<NamedKind, Map<string, NamedPart>>
  }

  /** Lines of the request log that a node keeps in any second. */
  get logsPerSecondPerNode(): number {
    return this.#logsPerSecondPerNode
  }

  /** All that is wrong with what a change would lead to. Empty: it can be made. */
  problemsOf(change: ConfigurationChange): Problem[] {
    const problems = change.come.flatMap((part) => part.problems)
    const after = new ConfigurationAfter(this, change)
    for (const part of change.come) if (part.kind === 'router') after.checkRouter(part, problems)
    if (after.loses('service') || after.loses('entryPoint')) {
      for (const router of this.parts.router.values()) {
        if (after.keeps(router)) after.checkRouter(router, problems)
      }
    }
    for (const entryPoint of after.entryPoints()) after.checkEntryPoint(entryPoint, problems)
    return problems
  }

  make({ removed, come }: ConfigurationChange): void {
    for (const { kind, name } of removed) {
      const named = namedKindOf(kind)
      if (named !== undefined) this.#parts[named].delete(name)
      if (kind === ResourceKind.SETTINGS) this.#logsPerSecondPerNode = LOGS_PER_SECOND_DEFAULT
    }
    for (const part of come) {
      if (part.kind === 'settings') {
        this.#logsPerSecondPerNode = part.logsPerSecondPerNode ?? LOGS_PER_SECOND_DEFAULT
      } else if (part.kind !== 'unknown') this.#parts[part.kind].set(part.name, part)
    }
  }
}

/** What is wrong with encoded sluice.v1 Resource messages as a whole version, in any order. */
export function problemsOf(resources: readonly Uint8Array[]): Problem[] {
  return new Configuration().problemsOf({ removed: [], come: resources.map(readResource) })
}

/** What a change would lead to, without making it. */
class ConfigurationAfter {
  readonly #before: Configuration
  readonly #come = setsByKind()
  /** Not those that are replaced. */
  readonly #gone = setsByKind()
  readonly #comeEntryPoints: EntryPointPart[] = []

  constructor(before: Configuration, { removed, come }: ConfigurationChange) {
    this.#before = before
    for (const part of come) {
      if (part.kind === 'entryPoint') this.#comeEntryPoints.push(part)
      if (part.kind !== 'settings' && part.kind !== 'unknown') this.#come[part.kind].add(part.name)
    }
    for (const { kind, name } of removed) {
      const named = namedKindOf(kind)
      if (named !== undefined && !this.#come[named].has(name)) this.#gone[named].add(name)
    }
  }

  loses(kind: NamedKind): boolean {
    return this.#gone[kind].size > 0
  }

  /** Whether a part of the version before stays as it is. */
  keeps({ kind, name }: NamedPart): boolean {
    return !this.#gone[kind].has(name) && !this.#come[kind].has(name)
  }

  entryPoints(): EntryPointPart[] {
    const before = [...this.#before.parts.entryPoint.values()]
    return before.filter((part) => this.keeps(part)).concat(this.#comeEntryPoints)
  }

  checkRouter({ name, service, entryPoints }: RouterPart, problems: Problem[]): void {
    const report = (field: string, reason: string) =>
      problems.push(problem(ResourceKind.ROUTER, name, field, reason))
    if (!this.#has('service', service)) report('service', `no service named "${service}"`)
    for (const [at, entryPoint] of entryPoints.entries()) {
      if (this.#has('entryPoint', entryPoint)) continue
      report(`entryPoints[${at}]`, `no entry point named "${entryPoint}"`)
    }
  }

  checkEntryPoint({ name, defaultCertificate }: EntryPointPart, problems: Problem[]): void {
    if (defaultCertificate === '' || this.#has('certificate', defaultCertificate)) return
    const reason = `no certificate named "${defaultCertificate}"`
    problems.push(problem(ResourceKind.ENTRY_POINT, name, 'defaultCertificate', reason))
  }

  #has(kind: NamedKind, name: string): boolean {
    const stays = this.#before.parts[kind].has(name) && !this.#gone[kind].has(name)
    return stays || this.#come[kind].has(name)
  }
}

function setsByKind(): Readonly<Record<NamedKind, Set<string>>> {
  return { entryPoint: new Set(), router: new Set(), service: new Set(), certificate: new Set() }
}

function namedKindOf(kind: ResourceKind): NamedKind | undefined {
  switch (kind) {
    case ResourceKind.ENTRY_POINT:
      return 'entryPoint'
    case ResourceKind.ROUTER:
      return 'router'
    case ResourceKind.SERVICE:
      return 'service'
    case ResourceKind.CERTIFICATE:
      return 'certificate'
    default:
      return undefined
  }
}

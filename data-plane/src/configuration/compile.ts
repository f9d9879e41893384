/**
 * A version's resources to frozen tables, or the problems that keep it from being used. Pure: the supervisor
 * checks a version with it before any worker sees it, and workers serve from what it makes.
 */
import type { BlockList } from 'node:net'
import {
  type CertificateTable,
  certificateTable,
  compileRanges,
  isOnEntryPoint,
  type RouteEntry,
  RouteTable,
  rank,
  type UnrankedEntry,
} from '@sluice/matching'
import {
  type Certificate,
  type EntryPoint,
  EntryPointProtocol,
  type Problem,
  ResourceKind,
} from '@sluice/proto'
import { problem } from './problems.ts'
import { type ResourcePart, type RouterPart, readResource } from './resource-part.ts'
import type { CompiledService } from './services.ts'

export interface CompiledEntryPoint {
  readonly name: string
  /** HOST:PORT, [IPV6]:PORT or :PORT. */
  readonly address: string
  readonly protocol: 'http' | 'https'
  readonly trustedPeers: BlockList | undefined
  readonly proxyProtocolPeers: BlockList | undefined
  /** The default certificate's name; '' for none. */
  readonly defaultCertificate: string
  /** The routers of this entry point. Its router numbers are places in CompiledConfiguration.routers. */
  readonly routes: RouteTable
}

export interface CompiledRouter {
  readonly name: string
  readonly service: string
  /** New requests get 503. */
  readonly isDraining: boolean
}

export interface CompiledConfiguration {
  readonly entryPoints: readonly CompiledEntryPoint[]
  readonly routers: readonly CompiledRouter[]
  readonly services: ReadonlyMap<string, CompiledService>
  readonly certificates: CertificateTable<Certificate>
  readonly logsPerSecondPerNode: number
}

export type CompileResult =
  | { readonly kind: 'compiled'; readonly configuration: CompiledConfiguration }
  | { readonly kind: 'refused'; readonly problems: readonly Problem[] }

const LOGS_PER_SECOND_DEFAULT = 10

interface Parts {
  readonly entryPoints: EntryPoint[]
  readonly routers: RouterPart[]
  readonly services: Map<string, CompiledService>
  readonly certificates: Certificate[]
  /** Those that cannot be used too. */
  readonly certificateNames: Set<string>
  logsPerSecondPerNode: number
}

/** `resources`: encoded sluice.v1 Resource messages, in any order. */
export function compile(resources: readonly Uint8Array[]): CompileResult {
  return compileParts(resources.map(readResource))
}

/** The same from resources that have been read before. */
export function compileParts(resources: readonly ResourcePart[]): CompileResult {
  const problems: Problem[] = []
  const parts = sorted(resources, problems)
  const entries: UnrankedEntry[] = []
  for (const [index, router] of parts.routers.entries()) {
    checkReferences(router, parts, problems)
    for (const entry of router.entries) entries.push({ ...entry, router: index })
  }
  const ranked = rank(entries)
  const entryPoints = parts.entryPoints.map((entryPoint) =>
    compileEntryPoint(entryPoint, parts, ranked, problems),
  )
  if (problems.length > 0) return { kind: 'refused', problems }
  return {
    kind: 'compiled',
    configuration: Object.freeze({
      entryPoints,
      routers: parts.routers,
      services: parts.services,
      certificates: certificateTable(parts.certificates),
      logsPerSecondPerNode: parts.logsPerSecondPerNode,
    }),
  }
}

/** By kind, with the problems that each has by itself. */
function sorted(resources: readonly ResourcePart[], problems: Problem[]): Parts {
  const parts: Parts = {
    entryPoints: [],
    routers: [],
    services: new Map(),
    certificates: [],
    certificateNames: new Set(),
    logsPerSecondPerNode: LOGS_PER_SECOND_DEFAULT,
  }
  for (const part of resources) {
    switch (part.kind) {
      case 'entryPoint':
        parts.entryPoints.push(part.value)
        break
      case 'router':
        parts.routers.push(part)
        problems.push(...part.problems)
        break
      case 'service':
        parts.services.set(part.name, part.compiled)
        problems.push(...part.problems)
        break
      case 'certificate':
        if (part.isUsable) parts.certificates.push(part.value)
        parts.certificateNames.add(part.value.name)
        problems.push(...part.problems)
        break
      case 'settings':
        parts.logsPerSecondPerNode = part.logsPerSecondPerNode ?? LOGS_PER_SECOND_DEFAULT
        break
      case 'unknown': {
        const reason = 'a kind of object that this node does not know'
        problems.push(problem(ResourceKind.UNSPECIFIED, '', '', reason))
      }
    }
  }
  return parts
}

function compileEntryPoint(
  entryPoint: EntryPoint,
  parts: Parts,
  ranked: readonly RouteEntry[],
  problems: Problem[],
): CompiledEntryPoint {
  const { name, address, defaultCertificate, protocol } = entryPoint
  const report = (field: string, reason: string) =>
    problems.push(problem(ResourceKind.ENTRY_POINT, name, field, reason))
  if (!/^(\[[0-9a-fA-F:.]+\]|[^:[\]]*):\d{1,5}$/.test(address)) {
    report('address', `"${address}" is not HOST:PORT`)
  }
  if (protocol !== EntryPointProtocol.HTTP && protocol !== EntryPointProtocol.HTTPS) {
    report('protocol', 'a protocol that this node does not know')
  }
  const isKnown = parts.certificateNames.has(defaultCertificate)
  if (defaultCertificate !== '' && !isKnown) {
    report('defaultCertificate', `no certificate named "${defaultCertificate}"`)
  }
  const entries = ranked.filter((entry) => isOnEntryPoint(parts.routers[entry.router], name))
  return Object.freeze({
    name,
    address,
    protocol: protocol === EntryPointProtocol.HTTPS ? 'https' : 'http',
    trustedPeers: compileRanges(entryPoint.trustedPeers, (index, reason) =>
      report(`trustedPeers[${index}]`, reason),
    ),
    proxyProtocolPeers: compileRanges(entryPoint.proxyProtocolPeers, (index, reason) =>
      report(`proxyProtocolPeers[${index}]`, reason),
    ),
    defaultCertificate,
    routes: new RouteTable(entries),
  })
}

function checkReferences(router: RouterPart, parts: Parts, problems: Problem[]): void {
  const report = (field: string, reason: string) =>
    problems.push(problem(ResourceKind.ROUTER, router.name, field, reason))
  if (!parts.services.has(router.service)) report('service', `no service named "${router.service}"`)
  for (const [at, name] of router.entryPoints.entries()) {
    const isKnown = parts.entryPoints.some((entryPoint) => entryPoint.name === name)
    if (!isKnown) report(`entryPoints[${at}]`, `no entry point named "${name}"`)
  }
}

/**
 * A version's resources to frozen tables, or the problems that keep it from being used. Pure: the supervisor
 * checks a version with it before any worker sees it, and workers serve from what it makes.
 */
import type { BlockList } from 'node:net'
import {
  type CertificateTable,
  certificateTable,
  compileRanges,
  entriesOf,
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
  Resource,
  ResourceKind,
  type Router,
  type Service,
} from '@sluice/proto'
import { checkCertificate } from './check-certificate.ts'
import { problem } from './problems.ts'
import { type CompiledService, compileService } from './services.ts'

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
  readonly routers: Router[]
  readonly services: Service[]
  readonly certificates: Certificate[]
  logsPerSecondPerNode: number
}

/** `resources`: encoded sluice.v1 Resource messages, in any order. */
export function compile(resources: readonly Uint8Array[]): CompileResult {
  const problems: Problem[] = []
  const parts = decode(resources, problems)
  const services = new Map<string, CompiledService>()
  for (const service of parts.services)
    services.set(service.name, compileService(service, problems))
  const certificates = parts.certificates.filter((one) => checkCertificate(one, problems))
  const entries = parts.routers.flatMap((router, index) =>
    compileRouter(router, index, parts, services, problems),
  )
  const ranked = rank(entries)
  const entryPoints = parts.entryPoints.map((entryPoint) =>
    compileEntryPoint(entryPoint, parts, ranked, problems),
  )
  if (problems.length > 0) return { kind: 'refused', problems }
  return {
    kind: 'compiled',
    configuration: Object.freeze({
      entryPoints,
      routers: parts.routers.map(({ name, service, drain }) => ({
        name,
        service,
        isDraining: drain,
      })),
      services,
      certificates: certificateTable(certificates),
      logsPerSecondPerNode: parts.logsPerSecondPerNode,
    }),
  }
}

function decode(resources: readonly Uint8Array[], problems: Problem[]): Parts {
  const parts: Parts = {
    entryPoints: [],
    routers: [],
    services: [],
    certificates: [],
    logsPerSecondPerNode: LOGS_PER_SECOND_DEFAULT,
  }
  for (const bytes of resources) {
    const resource = decodeOne(bytes)
    switch (resource?.$case) {
      case 'entryPoint':
        parts.entryPoints.push(resource.value)
        break
      case 'router':
        parts.routers.push(resource.value)
        break
      case 'service':
        parts.services.push(resource.value)
        break
      case 'certificate':
        parts.certificates.push(resource.value)
        break
      case 'settings':
        parts.logsPerSecondPerNode =
          resource.value.logs?.perSecondPerNode ?? LOGS_PER_SECOND_DEFAULT
        break
      case undefined:
        problems.push(
          problem(
            ResourceKind.UNSPECIFIED,
            '',
            '',
            'a kind of object that this node does not know',
          ),
        )
    }
  }
  return parts
}

/** undefined: not a Resource, or of an unknown kind. */
function decodeOne(bytes: Uint8Array): Resource['resource'] {
  try {
    return Resource.decode(bytes).resource
  } catch {
    return undefined
  }
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
  const isKnown = parts.certificates.some((certificate) => certificate.name === defaultCertificate)
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

function compileRouter(
  router: Router,
  index: number,
  parts: Parts,
  services: ReadonlyMap<string, CompiledService>,
  problems: Problem[],
): UnrankedEntry[] {
  const report = (field: string, reason: string) =>
    problems.push(problem(ResourceKind.ROUTER, router.name, field, reason))
  if (!services.has(router.service)) report('service', `no service named "${router.service}"`)
  for (const [at, name] of router.entryPoints.entries()) {
    const isKnown = parts.entryPoints.some((entryPoint) => entryPoint.name === name)
    if (!isKnown) report(`entryPoints[${at}]`, `no entry point named "${name}"`)
  }
  return entriesOf(router, index, report)
}

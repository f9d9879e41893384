/**
 * A version's resources to frozen tables, or the problems that keep it from being used. Pure: the supervisor
 * checks a version with it before any worker sees it, and workers serve from what it makes.
 */
import { BlockList, isIP } from 'node:net'
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
import { RE2JS } from 're2js'
import { type CertificateTable, certificateTable, checkCertificate } from './certificate-table.ts'
import { problem } from './problems.ts'
import {
  type PathCondition,
  type RouteEntry,
  RouteTable,
  rank,
  type UnrankedEntry,
} from './route-table.ts'
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
  readonly certificates: CertificateTable
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
  const entries = ranked.filter((entry) => {
    const names = parts.routers[entry.router]?.entryPoints ?? []
    return names.length === 0 || names.includes(name)
  })
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
  const match = router.match
  const hosts = match === undefined || match.hosts.length === 0 ? [''] : match.hosts
  const clientRanges = compileRanges(match?.clientRanges ?? [], (at, reason) =>
    report(`match.clientRanges[${at}]`, reason),
  )
  const methods =
    match === undefined || match.methods.length === 0 ? undefined : new Set(match.methods)
  return compilePaths(router, report).flatMap((path) =>
    hosts.map((host) => ({
      router: index,
      name: router.name,
      priority: router.priority,
      host: host.toLowerCase(),
      path,
      methods,
      clientRanges,
    })),
  )
}

function compilePaths(
  router: Router,
  report: (field: string, reason: string) => void,
): PathCondition[] {
  const paths: PathCondition[] = []
  for (const prefix of router.match?.pathPrefixes ?? []) paths.push(compilePrefix(prefix))
  for (const [at, source] of (router.match?.pathRegexes ?? []).entries()) {
    try {
      paths.push({ kind: 'regex', regex: RE2JS.compile(source), source })
    } catch (error) {
      report(`match.pathRegexes[${at}]`, error instanceof Error ? error.message : String(error))
    }
  }
  return paths.length === 0 ? [{ kind: 'any' }] : paths
}

/** Prefixes end at segment boundaries, so a slash at the end says nothing more. */
function compilePrefix(prefix: string): PathCondition {
  const trimmed = prefix.endsWith('/') ? prefix.slice(0, -1) : prefix
  return trimmed === '' ? { kind: 'any' } : { kind: 'prefix', prefix: trimmed }
}

/** undefined for an empty list. */
function compileRanges(
  ranges: readonly string[],
  report: (index: number, reason: string) => void,
): BlockList | undefined {
  if (ranges.length === 0) return undefined
  const list = new BlockList()
  for (const [index, range] of ranges.entries()) {
    const [address = '', bits] = range.split('/')
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4'
    const bitsMax = family === 'ipv6' ? 128 : 32
    const prefixBits = bits === undefined ? bitsMax : Number(bits)
    if (isIP(address) === 0 || !(prefixBits >= 0 && prefixBits <= bitsMax)) {
      report(index, `"${range}" is not a CIDR range`)
    } else {
      list.addSubnet(address, prefixBits, family)
    }
  }
  return list
}

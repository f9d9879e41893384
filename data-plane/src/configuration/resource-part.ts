/**
 * One resource as far as it can be compiled without the others. Made once and used for every version that
 * holds the resource, so that a change costs the decoding of what it brings.
 */
import type { BlockList } from 'node:net'
import { compileRanges, conditionsOf, type RouteCondition } from '@sluice/matching'
import {
  type Certificate,
  type EntryPoint,
  EntryPointProtocol,
  type Problem,
  Resource,
  ResourceKind,
  type Service,
} from '@sluice/proto'
import { checkCertificate } from './check-certificate.ts'
import { problem } from './problems.ts'
import { type CompiledService, compileService } from './services.ts'

export interface EntryPointPart {
  readonly kind: 'entryPoint'
  readonly name: string
  /** HOST:PORT, [IPV6]:PORT or :PORT. */
  readonly address: string
  readonly protocol: 'http' | 'https'
  readonly trustedPeers: BlockList | undefined
  readonly proxyProtocolPeers: BlockList | undefined
  /** A certificate's name; '' for none. */
  readonly defaultCertificate: string
  readonly problems: readonly Problem[]
}

export interface RouterPart {
  readonly kind: 'router'
  readonly name: string
  readonly service: string
  /** New requests get 503. */
  readonly isDraining: boolean
  /** Names; empty for all. */
  readonly entryPoints: readonly string[]
  readonly conditions: readonly RouteCondition[]
  readonly problems: readonly Problem[]
}

export interface ServicePart {
  readonly kind: 'service'
  readonly name: string
  readonly compiled: CompiledService
  readonly problems: readonly Problem[]
}

export interface CertificatePart {
  readonly kind: 'certificate'
  readonly name: string
  readonly value: Certificate
  readonly isUsable: boolean
  readonly problems: readonly Problem[]
}

export interface SettingsPart {
  readonly kind: 'settings'
  readonly logsPerSecondPerNode: number | undefined
  readonly problems: readonly Problem[]
}

/** Of a kind that this software does not know. */
export interface UnknownPart {
  readonly kind: 'unknown'
  readonly problems: readonly Problem[]
}

export type ResourcePart =
  | EntryPointPart
  | RouterPart
  | ServicePart
  | CertificatePart
  | SettingsPart
  | UnknownPart

const NO_PROBLEMS: readonly Problem[] = Object.freeze([])

/** `bytes`: an encoded sluice.v1 Resource. They are not kept. */
export function readResource(bytes: Uint8Array): ResourcePart {
  const resource = decode(bytes)
  switch (resource?.$case) {
    case 'entryPoint':
      return readEntryPoint(resource.value)
    case 'router':
      return readRouter(resource.value)
    case 'service':
      return readService(resource.value)
    case 'certificate':
      return readCertificate(resource.value)
    case 'settings': {
      const logsPerSecondPerNode = resource.value.logs?.perSecondPerNode
      return { kind: 'settings', logsPerSecondPerNode, problems: NO_PROBLEMS }
    }
    case undefined: {
      const reason = 'a kind of object that this node does not know'
      return { kind: 'unknown', problems: [problem(ResourceKind.UNSPECIFIED, '', '', reason)] }
    }
  }
}

function readEntryPoint(entryPoint: EntryPoint): EntryPointPart {
  const { name, address, defaultCertificate, protocol } = entryPoint
  const problems: Problem[] = []
  const report = (field: string, reason: string) =>
    problems.push(problem(ResourceKind.ENTRY_POINT, name, field, reason))
  if (!/^(\[[0-9a-fA-F:.]+\]|[^:[\]]*):\d{1,5}$/.test(address)) {
    report('address', `"${address}" is not HOST:PORT`)
  }
  if (protocol !== EntryPointProtocol.HTTP && protocol !== EntryPointProtocol.HTTPS) {
    report('protocol', 'a protocol that this node does not know')
  }
  return {
    kind: 'entryPoint',
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
    problems: someOrNone(problems),
  }
}

type Router = Extract<Resource['resource'], { $case: 'router' }>['value']

function readRouter(router: Router): RouterPart {
  const { name, service, drain, entryPoints } = router
  const problems: Problem[] = []
  const conditions = conditionsOf(router, (field, reason) =>
    problems.push(problem(ResourceKind.ROUTER, name, field, reason)),
  )
  return {
    kind: 'router',
    name,
    service,
    isDraining: drain,
    entryPoints,
    conditions,
    problems: someOrNone(problems),
  }
}

function readService(service: Service): ServicePart {
  const problems: Problem[] = []
  const compiled = compileService(service, problems)
  return { kind: 'service', name: service.name, compiled, problems: someOrNone(problems) }
}

function readCertificate(value: Certificate): CertificatePart {
  const problems: Problem[] = []
  const isUsable = checkCertificate(value, problems)
  return { kind: 'certificate', name: value.name, value, isUsable, problems: someOrNone(problems) }
}

/** One empty array for all parts: there are many. */
function someOrNone(problems: readonly Problem[]): readonly Problem[] {
  return problems.length === 0 ? NO_PROBLEMS : problems
}

/** undefined: not a Resource, or of an unknown kind. */
function decode(bytes: Uint8Array): Resource['resource'] {
  try {
    return Resource.decode(bytes).resource
  } catch {
    return undefined
  }
}

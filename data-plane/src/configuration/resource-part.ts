/**
 * One resource as far as it can be compiled without the others. Made once and used for every version that
 * holds the resource, so that a change costs the decoding of what it brings.
 */
import { entriesOf, type UnrankedEntry } from '@sluice/matching'
import {
  type Certificate,
  type EntryPoint,
  type Problem,
  Resource,
  ResourceKind,
  type Service,
} from '@sluice/proto'
import { checkCertificate } from './check-certificate.ts'
import { problem } from './problems.ts'
import { type CompiledService, compileService } from './services.ts'

export interface RouterPart {
  readonly kind: 'router'
  readonly name: string
  readonly service: string
  readonly isDraining: boolean
  /** Names; empty for all. */
  readonly entryPoints: readonly string[]
  /** Without the router's number, which differs between versions. */
  readonly entries: readonly Omit<UnrankedEntry, 'router'>[]
  readonly problems: readonly Problem[]
}

export interface ServicePart {
  readonly kind: 'service'
  readonly name: string
  readonly compiled: CompiledService
  readonly problems: readonly Problem[]
}

export type ResourcePart =
  | RouterPart
  | ServicePart
  | { readonly kind: 'entryPoint'; readonly value: EntryPoint }
  | {
      readonly kind: 'certificate'
      readonly value: Certificate
      readonly isUsable: boolean
      readonly problems: readonly Problem[]
    }
  | { readonly kind: 'settings'; readonly logsPerSecondPerNode: number | undefined }
  | { readonly kind: 'unknown' }

/** `bytes`: an encoded sluice.v1 Resource. They are not kept. */
export function readResource(bytes: Uint8Array): ResourcePart {
  const resource = decode(bytes)
  const problems: Problem[] = []
  switch (resource?.$case) {
    case 'entryPoint':
      return { kind: 'entryPoint', value: resource.value }
    case 'router':
      return readRouter(resource.value)
    case 'service':
      return readService(resource.value)
    case 'certificate': {
      const isUsable = checkCertificate(resource.value, problems)
      return { kind: 'certificate', value: resource.value, isUsable, problems }
    }
    case 'settings':
      return { kind: 'settings', logsPerSecondPerNode: resource.value.logs?.perSecondPerNode }
    case undefined:
      return { kind: 'unknown' }
  }
}

type Router = Extract<Resource['resource'], { $case: 'router' }>['value']

function readRouter(router: Router): RouterPart {
  const { name, service, drain, entryPoints } = router
  const problems: Problem[] = []
  const entries = entriesOf(router, 0, (field, reason) =>
    problems.push(problem(ResourceKind.ROUTER, name, field, reason)),
  )
  return { kind: 'router', name, service, isDraining: drain, entryPoints, entries, problems }
}

function readService(service: Service): ServicePart {
  const problems: Problem[] = []
  const compiled = compileService(service, problems)
  return { kind: 'service', name: service.name, compiled, problems }
}

/** undefined: not a Resource, or of an unknown kind. */
function decode(bytes: Uint8Array): Resource['resource'] {
  try {
    return Resource.decode(bytes).resource
  } catch {
    return undefined
  }
}

/** The one place where a resource in the API's shape becomes the message that nodes get. */
import {
  type EntryPoint as EntryPointMessage,
  EntryPointProtocol,
  type HealthCheck as HealthCheckMessage,
  ProxyProtocol,
  Resource as ResourceMessage,
  type Router as RouterMessage,
  type Service as ServiceMessage,
} from '@sluice/proto'
import type { EntryPoint, HealthCheck, Resource, Router, Service } from '../model/resources.ts'

/** `privateKeyPem` is for certificates only. Its bytes are in what comes out: never log, never store. */
export function encodeResource(resource: Resource, privateKeyPem = ''): Uint8Array {
  return ResourceMessage.encode({ resource: toMessage(resource, privateKeyPem) }).finish()
}

function toMessage(resource: Resource, privateKeyPem: string): ResourceMessage['resource'] {
  switch (resource.kind) {
    case 'entry-point':
      return { $case: 'entryPoint', value: toEntryPoint(resource.spec) }
    case 'router':
      return { $case: 'router', value: toRouter(resource.spec) }
    case 'service':
      return { $case: 'service', value: toService(resource.spec) }
    case 'certificate': {
      const { name, chainPem, hosts } = resource.spec
      return { $case: 'certificate', value: { name, chainPem, hosts, privateKeyPem } }
    }
    case 'settings':
      return { $case: 'settings', value: { logs: resource.spec.logs } }
  }
}

function toEntryPoint(spec: EntryPoint): EntryPointMessage {
  return {
    name: spec.name,
    address: spec.address,
    protocol: EntryPointProtocol[spec.protocol === 'https' ? 'HTTPS' : 'HTTP'],
    trustedPeers: spec.trustedPeers,
    defaultCertificate: spec.defaultCertificate ?? '',
    proxyProtocolPeers: spec.proxyProtocolPeers,
  }
}

function toRouter({ labels: _, ...spec }: Router): RouterMessage {
  return spec
}

const PROXY_PROTOCOLS = {
  off: ProxyProtocol.UNSPECIFIED,
  v1: ProxyProtocol.V1,
  v2: ProxyProtocol.V2,
} as const

function toService({ labels: _, ...spec }: Service): ServiceMessage {
  const healthCheck = toHealthCheck(spec.healthCheck)
  // Stored before there was a slow start, a service does not have the field.
  const slowStartMs = spec.slowStartMs ?? 0
  return { ...spec, proxyProtocol: PROXY_PROTOCOLS[spec.proxyProtocol], healthCheck, slowStartMs }
}

function toHealthCheck(check: HealthCheck | undefined): HealthCheckMessage | undefined {
  if (check === undefined) return undefined
  const { initial, status = 0, ...rest } = check
  return { ...rest, status, initiallyUnhealthy: initial === 'unhealthy' }
}

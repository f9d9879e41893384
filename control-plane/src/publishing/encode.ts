/** The one place where a resource in the API's shape becomes the message that nodes get. */
import {
  type EntryPoint as EntryPointMessage,
  EntryPointProtocol,
  ProxyProtocol,
  Resource as ResourceMessage,
  Router as RouterMessage,
  Service as ServiceMessage,
} from '@sluice/proto'
import type { EntryPoint, Resource, Service } from '../model/resources.ts'

/** `privateKeyPem` is for certificates only. Its bytes are in what comes out: never log, never store. */
export function encodeResource(resource: Resource, privateKeyPem = ''): Uint8Array {
  return ResourceMessage.encode({ resource: toMessage(resource, privateKeyPem) }).finish()
}

function toMessage(resource: Resource, privateKeyPem: string): ResourceMessage['resource'] {
  switch (resource.kind) {
    case 'entry-point':
      return { $case: 'entryPoint', value: toEntryPoint(resource.spec) }
    case 'router':
      // One that was stored before a field existed has none, which is the message's own default.
      return { $case: 'router', value: RouterMessage.fromPartial(resource.spec) }
    case 'service':
      return { $case: 'service', value: toService(resource.spec) }
    case 'certificate': {
      const { name, chainPem, hosts } = resource.spec
      return { $case: 'certificate', value: { name, chainPem, hosts, privateKeyPem } }
    }
    case 'settings':
      return { $case: 'settings', value: resource.spec }
  }
}

function toEntryPoint(spec: EntryPoint): EntryPointMessage {
  return {
    name: spec.name,
    address: spec.address,
    protocol: EntryPointProtocol[spec.protocol === 'https' ? 'HTTPS' : 'HTTP'],
    trustedPeers: spec.trustedPeers,
    defaultCertificate: spec.defaultCertificate ?? '',
    // One that was stored before the field existed has none.
    proxyProtocolPeers: spec.proxyProtocolPeers ?? [],
  }
}

const PROXY_PROTOCOLS = {
  off: ProxyProtocol.UNSPECIFIED,
  v1: ProxyProtocol.V1,
  v2: ProxyProtocol.V2,
} as const

function toService(spec: Service): ServiceMessage {
  // One that was stored before a field existed has none, which is the message's own default.
  return ServiceMessage.fromPartial({
    ...spec,
    proxyProtocol: PROXY_PROTOCOLS[spec.proxyProtocol ?? 'off'],
  })
}

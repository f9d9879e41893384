/** Resources of a version, encoded as the control plane sends them, for the node's own tests. */
import { EntryPointProtocol, ProxyProtocol, Resource, type RouterMatch } from '@sluice/proto'

function encode(resource: NonNullable<Resource['resource']>): Uint8Array {
  return Resource.encode({ resource }).finish()
}

export interface EntryPointOptions {
  readonly address?: string
  readonly trustedPeers?: string[]
  readonly proxyProtocolPeers?: string[]
  readonly defaultCertificate?: string
  readonly isHttps?: boolean
}

export interface ServiceOptions {
  readonly firstByteMs?: number
  readonly passHost?: boolean
  readonly proxyProtocol?: ProxyProtocol
}

export function encodeEntryPoint(name: string, options: EntryPointOptions = {}): Uint8Array {
  const { address = '127.0.0.1:0', isHttps = false, ...rest } = options
  const protocol = isHttps ? EntryPointProtocol.HTTPS : EntryPointProtocol.HTTP
  const none = { trustedPeers: [], proxyProtocolPeers: [], defaultCertificate: '' }
  const value = { ...none, name, address, protocol, ...rest }
  return encode({ $case: 'entryPoint', value })
}

export function encodeRouter(
  name: string,
  service: string,
  { hosts, pathPrefixes, pathRegexes, methods, clientRanges }: Partial<RouterMatch> = {},
  priority = 0,
): Uint8Array {
  const match = {
    hosts: hosts ?? [],
    pathPrefixes: pathPrefixes ?? [],
    pathRegexes: pathRegexes ?? [],
    methods: methods ?? [],
    clientRanges: clientRanges ?? [],
  }
  const value = { name, entryPoints: [], match, priority, service }
  return encode({ $case: 'router', value })
}

/** A service of servers on 127.0.0.1. */
export function encodeService(
  name: string,
  ports: readonly number[],
  options: ServiceOptions = {},
): Uint8Array {
  const { firstByteMs = 5_000, passHost = true } = options
  const proxyProtocol = options.proxyProtocol ?? ProxyProtocol.UNSPECIFIED
  const servers = ports.map((port) => ({ url: `http://127.0.0.1:${port}`, weight: 1 }))
  const timeouts = { connectMs: 1_000, firstByteMs, idleMs: 5_000 }
  const value = { name, servers, timeouts, idleConnectionsMax: 64, passHost, proxyProtocol }
  return encode({ $case: 'service', value })
}

export function encodeCertificate(
  name: string,
  hosts: string[],
  chainPem: string,
  privateKeyPem: string,
): Uint8Array {
  return encode({ $case: 'certificate', value: { name, hosts, chainPem, privateKeyPem } })
}

export function encodeSettings(perSecondPerNode: number): Uint8Array {
  return encode({ $case: 'settings', value: { logs: { perSecondPerNode } } })
}

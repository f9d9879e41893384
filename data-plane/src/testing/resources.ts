/** Resources of a version, encoded as the control plane sends them, for the node's own tests. */
import {
  EntryPointProtocol,
  type HealthCheck,
  ProxyProtocol,
  Resource,
  type RouterMatch,
} from '@sluice/proto'

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
  readonly healthCheck?: HealthCheck
  readonly slowStartMs?: number
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
  const value = { name, entryPoints: [], match, priority, service, nodes: {}, drain: false }
  return encode({ $case: 'router', value })
}

export interface ServiceOptions {
  readonly connectMs?: number
  readonly firstByteMs?: number
  readonly passHost?: boolean
  readonly connectionsMax?: number
  readonly idleConnectionsMax?: number
  readonly queueMax?: number
  readonly queueMs?: number
  readonly connectionAgeMaxMs?: number
}

/** A port of 127.0.0.1, or a URL, or a URL with a weight. */
export type Address = number | string | { readonly url: string; readonly weight: number }

function urlOf(address: number | string): string {
  return typeof address === 'string' ? address : `http://127.0.0.1:${address}`
}

export function encodeService(
  name: string,
  addresses: readonly Address[],
  options: ServiceOptions = {},
): Uint8Array {
  const { connectMs = 1_000, firstByteMs = 5_000, queueMs = 5_000, ...bounds } = options
  const servers = addresses.map((one) =>
    typeof one === 'object'
      ? { drain: false, ...one }
      : { url: urlOf(one), weight: 1, drain: false },
  )
  const timeouts = { connectMs, firstByteMs, idleMs: 5_000, queueMs }
  const defaults = {
    passHost: true,
    connectionsMax: 0,
    queueMax: 1_024,
    connectionAgeMaxMs: 0,
    proxyProtocol: ProxyProtocol.UNSPECIFIED,
    healthCheck: undefined,
    slowStartMs: 0,
  }
  const value = { ...defaults, name, servers, timeouts, idleConnectionsMax: 64, ...bounds }
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

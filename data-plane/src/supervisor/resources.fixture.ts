/** Small versions for the supervisor's tests, as updates with their hashes. */
import {
  EntryPointProtocol,
  ProxyProtocol,
  Resource,
  ResourceKind,
  type Update,
} from '@sluice/proto'
import { ResourceSet } from './resource-set.ts'

type Value = NonNullable<Resource['resource']>

export function encode(resource: Value): Buffer {
  return Buffer.from(Resource.encode({ resource }).finish())
}

export function entryPoint(name: string, address: string): Buffer {
  const protocol = EntryPointProtocol.HTTP
  return encode({
    $case: 'entryPoint',
    value: {
      name,
      address,
      protocol,
      trustedPeers: [],
      proxyProtocolPeers: [],
      defaultCertificate: '',
    },
  })
}

export function router(name: string, service: string, hosts: string[] = []): Buffer {
  const match = { hosts, pathPrefixes: [], pathRegexes: [], methods: [], clientRanges: [] }
  return encode({
    $case: 'router',
    value: { name, entryPoints: [], match, priority: 0, service, nodes: {}, drain: false },
  })
}

export function service(name: string, ...urls: string[]): Buffer {
  return encode({
    $case: 'service',
    value: {
      name,
      servers: urls.map((url) => ({ url, weight: 1, drain: false })),
      timeouts: { connectMs: 1_000, firstByteMs: 5_000, idleMs: 5_000, queueMs: 5_000 },
      idleConnectionsMax: 8,
      passHost: true,
      connectionsMax: 0,
      queueMax: 1_024,
      connectionAgeMaxMs: 0,
      proxyProtocol: ProxyProtocol.UNSPECIFIED,
      healthCheck: undefined,
      slowStartMs: 0,
    },
  })
}

export function settings(perSecondPerNode: number): Buffer {
  return encode({ $case: 'settings', value: { logs: { perSecondPerNode } } })
}

export function fullUpdate(version: bigint, resources: Buffer[], emptyOnPurpose = false): Update {
  const hash = ResourceSet.fromSnapshot({ resources }).hash()
  const value = { resources, emptyOnPurpose }
  return { version, hash, baseVersion: 0n, baseHash: '', content: { $case: 'full', value } }
}

/** From one full update to the resources of another. */
export function deltaUpdate(base: Update, version: bigint, changes: DeltaChanges): Update {
  if (base.content?.$case !== 'full') throw new Error('the base is not full')
  const { added = [], removedRouters = [] } = changes
  const removed = removedRouters.map((name) => ({ kind: ResourceKind.ROUTER, name }))
  const delta = { resources: added, removed, emptyOnPurpose: false }
  const hash = ResourceSet.fromSnapshot(base.content.value).withDelta(delta).hash()
  const { version: baseVersion, hash: baseHash } = base
  return { version, hash, baseVersion, baseHash, content: { $case: 'delta', value: delta } }
}

export interface DeltaChanges {
  readonly added?: Buffer[]
  readonly removedRouters?: string[]
}

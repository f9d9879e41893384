/** Checked documents as the messages that a control plane would make of them: defaults filled in, normalised. */
import {
  EntryPointProtocol,
  type HealthCheck,
  ProxyProtocol,
  type Resource,
  type Router,
  type Service,
  type Settings,
} from '@sluice/proto'
import Value from 'typebox/value'
import { type DocumentKind, documentSchemas } from './schemas.ts'

export type ResourceValue = NonNullable<Resource['resource']>

/** For all kinds but certificates. `checked` has passed the schema of its kind. */
export function toResource(
  kind: Exclude<DocumentKind, 'certificate'>,
  checked: object,
): ResourceValue {
  const {
    kind: _,
    labels: __,
    ...fields
  } = Value.Default(documentSchemas[kind], structuredClone(checked)) as {
    kind: DocumentKind
    labels?: object
  }
  // The casts hold since the schemas have the fields of the messages, and defaults for all that may be left out.
  switch (kind) {
    case 'entry-point':
      return { $case: 'entryPoint', value: toEntryPoint(fields as EntryPointFields) }
    case 'router':
      return { $case: 'router', value: toRouter(fields as Router) }
    case 'service':
      return { $case: 'service', value: toService(fields as ServiceFields) }
    case 'settings':
      return { $case: 'settings', value: toSettings(fields as Settings) }
  }
}

function toSettings({ logs }: Settings): Settings {
  return { logs }
}

interface EntryPointFields {
  readonly name: string
  readonly address: string
  readonly protocol: 'http' | 'https'
  readonly trustedPeers: string[]
  readonly proxyProtocolPeers: string[]
  readonly defaultCertificate?: string
}

function toEntryPoint(fields: EntryPointFields) {
  const { defaultCertificate = '', protocol, ...rest } = fields
  return {
    ...rest,
    protocol: EntryPointProtocol[protocol === 'https' ? 'HTTPS' : 'HTTP'],
    defaultCertificate,
  }
}

/** Hosts are compared without regard to case (RFC 9110 section 4.2.3), and methods are written in capitals. */
function toRouter(router: Router): Router {
  const match = router.match ?? NO_MATCH
  const hosts = [...new Set(match.hosts.map((host) => host.toLowerCase()))]
  const methods = [...new Set(match.methods.map((method) => method.toUpperCase()))]
  // Sorted, so that labels in another order are no change.
  const nodes = Object.fromEntries(
    Object.entries(router.nodes).sort(([a], [b]) => (a < b ? -1 : 1)),
  )
  return { ...router, match: { ...match, hosts, methods }, nodes }
}

type ServiceFields = Omit<Service, 'proxyProtocol' | 'healthCheck'> & {
  readonly healthCheck?: Omit<HealthCheck, 'initiallyUnhealthy' | 'status'> & {
    readonly initial: 'healthy' | 'unhealthy'
    readonly status?: number
  }
  readonly proxyProtocol: keyof typeof PROXY_PROTOCOLS
}

const PROXY_PROTOCOLS = {
  off: ProxyProtocol.UNSPECIFIED,
  v1: ProxyProtocol.V1,
  v2: ProxyProtocol.V2,
} as const

function toService(service: ServiceFields): Service {
  const servers = service.servers.map((server) => ({ ...server, url: server.url.toLowerCase() }))
  const healthCheck = toHealthCheck(service.healthCheck)
  const proxyProtocol = PROXY_PROTOCOLS[service.proxyProtocol]
  return { ...service, servers, proxyProtocol, healthCheck }
}

function toHealthCheck(check: ServiceFields['healthCheck']): HealthCheck | undefined {
  if (check === undefined) return undefined
  const { initial, status = 0, ...rest } = check
  return { ...rest, status, initiallyUnhealthy: initial === 'unhealthy' }
}

const NO_MATCH = { hosts: [], pathPrefixes: [], pathRegexes: [], methods: [], clientRanges: [] }

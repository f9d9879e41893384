/** A service's servers and bounds in the form that workers dial with. */
import { isIP } from 'node:net'
import { type Problem, ProxyProtocol, ResourceKind, type Service } from '@sluice/proto'
import { problem } from './problems.ts'

export interface CompiledService {
  readonly name: string
  readonly servers: readonly CompiledServer[]
  readonly isHostPassed: boolean
  readonly connectMs: number
  readonly firstByteMs: number
  readonly idleMs: number
  readonly idleConnectionsMax: number
  /** Per server; 0: no cap. */
  readonly connectionsMax: number
  /** 0: any age. */
  readonly connectionAgeMaxMs: number
  readonly queueMax: number
  readonly queueMs: number
  readonly proxyProtocol: ProxyHeaderVersion
  readonly healthCheck: HealthCheck | undefined
  /** 0: a server has its whole share at once. */
  readonly slowStartMs: number
}

export interface HealthCheck {
  readonly path: string
  readonly intervalMs: number
  readonly timeoutMs: number
  readonly unhealthyAfter: number
  readonly healthyAfter: number
  /** 0: any of 200 to 399. */
  readonly status: number
  readonly isInitiallyUnhealthy: boolean
  readonly isFailOpen: boolean
}

/** What a connection to a server begins with. */
export type ProxyHeaderVersion = 'off' | 'v1' | 'v2'

export interface CompiledServer {
  /** A name or an address, without brackets. */
  readonly host: string
  readonly port: number
  /** As it stands in a Host field: without the port where that is 80. */
  readonly authority: string
  /** 0: it gets nothing. */
  readonly weight: number
  readonly isDraining: boolean
}

export function compileService(service: Service, problems: Problem[]): CompiledService {
  const report = (field: string, reason: string) =>
    problems.push(problem(ResourceKind.SERVICE, service.name, field, reason))
  const servers: CompiledServer[] = []
  for (const [index, server] of service.servers.entries()) {
    const url = URL.parse(server.url)
    if (url === null || url.protocol !== 'http:' || url.hostname === '') {
      report(`servers[${index}].url`, `"${server.url}" is not http://HOST:PORT`)
      continue
    }
    const bare = url.hostname.replace(/^\[(.*)\]$/, '$1')
    servers.push({
      host: isIP(bare) === 0 ? url.hostname : bare,
      port: url.port === '' ? 80 : Number(url.port),
      authority: url.host,
      weight: server.drain ? 0 : server.weight,
      isDraining: server.drain,
    })
  }
  const timeouts = service.timeouts
  if (
    timeouts === undefined ||
    timeouts.connectMs < 1 ||
    timeouts.firstByteMs < 1 ||
    timeouts.idleMs < 1
  ) {
    report('timeouts', 'connectMs, firstByteMs and idleMs must be given and above 0')
  }
  const proxyProtocol = headerVersion(service.proxyProtocol)
  if (proxyProtocol === undefined) {
    report('proxyProtocol', 'a version that this node does not know')
  }
  return {
    name: service.name,
    servers,
    proxyProtocol: proxyProtocol ?? 'off',
    healthCheck: compileHealthCheck(service, report),
    slowStartMs: service.slowStartMs,
    isHostPassed: service.passHost,
    connectMs: timeouts?.connectMs ?? 1,
    firstByteMs: timeouts?.firstByteMs ?? 1,
    idleMs: timeouts?.idleMs ?? 1,
    idleConnectionsMax: service.idleConnectionsMax,
    connectionsMax: service.connectionsMax,
    connectionAgeMaxMs: service.connectionAgeMaxMs,
    queueMax: service.queueMax,
    queueMs: timeouts?.queueMs ?? 0,
  }
}

function compileHealthCheck(
  { healthCheck }: Service,
  report: (field: string, reason: string) => void,
): HealthCheck | undefined {
  if (healthCheck === undefined) return undefined
  const { initiallyUnhealthy, failOpen, ...rest } = healthCheck
  if (!PROBE_PATH.test(rest.path)) {
    report('healthCheck.path', `"${rest.path}" is not a path that begins with one "/"`)
  }
  for (const field of ['intervalMs', 'timeoutMs', 'unhealthyAfter', 'healthyAfter'] as const) {
    if (rest[field] < 1) report(`healthCheck.${field}`, 'must be above 0')
  }
  return { ...rest, isInitiallyUnhealthy: initiallyUnhealthy, isFailOpen: failOpen }
}

/** Printable ASCII without a fragment. */
const PROBE_PATH = /^\/(?!\/)[\x21\x22\x24-\x7e]*$/

function headerVersion(version: ProxyProtocol): ProxyHeaderVersion | undefined {
  switch (version) {
    case ProxyProtocol.UNSPECIFIED:
      return 'off'
    case ProxyProtocol.V1:
      return 'v1'
    case ProxyProtocol.V2:
      return 'v2'
    default:
      return undefined
  }
}

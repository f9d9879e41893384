/** Brings what operators write in several ways into the one form that is kept and compared. */
import type { Resource, Router, Service } from './resources.ts'

export function normalise(resource: Resource): Resource {
  switch (resource.kind) {
    case 'router':
      return { kind: 'router', spec: router(resource.spec) }
    case 'service':
      return { kind: 'service', spec: service(resource.spec) }
    default:
      return resource
  }
}

/** Host names are compared without regard to case (RFC 9110 section 4.2.3). */
export function normaliseHosts(hosts: readonly string[]): string[] {
  return [...new Set(hosts.map((host) => host.toLowerCase()))]
}

function router(spec: Router): Router {
  const { match } = spec
  const hosts = normaliseHosts(match.hosts)
  const methods = [...new Set(match.methods.map((method) => method.toUpperCase()))]
  // Sorted, so that labels in another order are no change.
  const nodes = Object.fromEntries(Object.entries(spec.nodes).sort(([a], [b]) => (a < b ? -1 : 1)))
  return { ...spec, match: { ...match, hosts, methods }, nodes }
}

function service(spec: Service): Service {
  const servers = spec.servers.map((server) => ({ ...server, url: server.url.toLowerCase() }))
  return { ...spec, servers }
}

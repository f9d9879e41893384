/** Brings what operators write in several ways into the one form that is kept and compared. */
import type { Resource, Router, Service } from './resources.ts'

export function normalise(resource: Resource): Resource {
  switch (resource.kind) {
    case 'router':
      return { kind: 'router', spec: router(resource.spec) }
    case 'service':
      return { kind: 'service', spec: service(resource.spec) }
    case 'entry-point':
      return { kind: 'entry-point', spec: labelled(resource.spec) }
    case 'settings':
      return { kind: 'settings', spec: labelled(resource.spec) }
    case 'certificate':
      return { kind: 'certificate', spec: labelled(resource.spec) }
  }
}

/** Host names are compared without regard to case (RFC 9110 section 4.2.3). */
export function normaliseHosts(hosts: readonly string[]): string[] {
  return [...new Set(hosts.map((host) => host.toLowerCase()))]
}

/** The order of labels says nothing. */
export function sortedLabels(labels: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(labels).sort(([left], [right]) => (left < right ? -1 : 1)),
  )
}

function router(spec: Router): Router {
  const { match } = spec
  const hosts = normaliseHosts(match.hosts)
  const methods = [...new Set(match.methods.map((method) => method.toUpperCase()))]
  // Sorted, so that labels in another order are no change.
  const nodes = Object.fromEntries(Object.entries(spec.nodes).sort(([a], [b]) => (a < b ? -1 : 1)))
  return { ...labelled(spec), match: { ...match, hosts, methods }, nodes }
}

function service(spec: Service): Service {
  const servers = spec.servers.map((server) => ({ ...server, url: server.url.toLowerCase() }))
  return { ...labelled(spec), servers }
}

function labelled<T extends { labels: Record<string, string> }>(spec: T): T {
  return { ...spec, labels: sortedLabels(spec.labels) }
}

/**
 * Which resources a node needs: the routers that select it, and what these use. What no router uses at all
 * goes to every node, except certificates: a key leaves the control plane only for nodes that may serve with it.
 */
import { type Configuration, idOf } from '../model/configuration.ts'
import { isSelected, type Labels } from '../model/labels.ts'
import type { Resource, Router } from '../model/resources.ts'

export function findConcerned(
  configuration: Configuration,
  labels: Labels,
): (resource: Resource) => boolean {
  const routers = [...configuration.routers.values()]
  const all = useOf(routers)
  const mine = useOf(routers.filter(({ nodes }) => isSelected(nodes ?? {}, labels)))
  const takesEntryPoint = (name: string) => mine.takesEntryPoint(name) || !all.takesEntryPoint(name)
  const defaults = new Set(
    [...configuration.entryPoints.values()]
      .filter(({ name }) => takesEntryPoint(name))
      .map(({ defaultCertificate }) => defaultCertificate),
  )
  return (resource) => {
    switch (resource.kind) {
      case 'settings':
        return true
      case 'router':
        return isSelected(resource.spec.nodes ?? {}, labels)
      case 'service':
        return mine.services.has(resource.spec.name) || !all.services.has(resource.spec.name)
      case 'entry-point':
        return takesEntryPoint(resource.spec.name)
      case 'certificate': {
        const { name, hosts } = resource.spec
        if (defaults.has(name) || hosts.some((host) => mine.serves(host))) return true
        // A router without hosts serves every name that no other router has.
        return mine.hasAnyHost && !hosts.some((host) => all.serves(host))
      }
    }
  }
}

/** What of a configuration a node with these labels gets. */
export function concernedPart(configuration: Configuration, labels: Labels): Configuration {
  const concerned = findConcerned(configuration, labels)
  const others = [...configuration.resources()].filter((resource) => !concerned(resource))
  return configuration.with([], others.map(idOf))
}

/** What some routers use. */
function useOf(routers: readonly Router[]) {
  const services = new Set<string>()
  const entryPoints = new Set<string>()
  const hosts = new Set<string>()
  /** ".example.com" where a router has a name with one label in front of it. */
  const parents = new Set<string>()
  let hasAnyEntryPoint = false
  let hasAnyHost = false
  for (const router of routers) {
    services.add(router.service)
    for (const name of router.entryPoints) entryPoints.add(name)
    hasAnyEntryPoint ||= router.entryPoints.length === 0
    hasAnyHost ||= router.match.hosts.length === 0
    for (const host of router.match.hosts) {
      hosts.add(host)
      parents.add(host.slice(Math.max(0, host.indexOf('.'))))
    }
  }
  return {
    services,
    hasAnyHost,
    takesEntryPoint: (name: string) => hasAnyEntryPoint || entryPoints.has(name),
    /** `host`: a name of a certificate, exact or with "*" as its first label. */
    serves(host: string): boolean {
      if (hosts.has(host)) return true
      const parent = host.slice(Math.max(0, host.indexOf('.')))
      return host.startsWith('*.') ? parents.has(parent) : hosts.has(`*${parent}`)
    },
  }
}

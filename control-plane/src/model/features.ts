/**
 * What the software of a node must be able to do for a resource. A field that older nodes would pass over in
 * silence has a line here; a node that did not name the feature in its hello is not sent such a version.
 */
import type { Resource, Service } from './resources.ts'

export interface FeatureNeed {
  readonly feature: string
  /** Path of the field within the resource. */
  readonly field: string
}

const nothing: readonly FeatureNeed[] = Object.freeze([])

export function featureNeeds(resource: Resource): readonly FeatureNeed[] {
  switch (resource.kind) {
    case 'entry-point': {
      const isUsed = (resource.spec.proxyProtocolPeers ?? []).length > 0
      return isUsed ? [{ feature: 'proxy-protocol', field: 'proxyProtocolPeers' }] : nothing
    }
    case 'service':
      return serviceNeeds(resource.spec)
    case 'router':
      return resource.spec.drain ? [{ feature: 'drain', field: 'drain' }] : nothing
    case 'certificate':
    case 'settings':
      return nothing
  }
}

function serviceNeeds({
  proxyProtocol,
  servers,
  healthCheck,
  slowStartMs,
}: Service): readonly FeatureNeed[] {
  const needs: FeatureNeed[] = []
  if ((proxyProtocol ?? 'off') !== 'off') {
    needs.push({ feature: 'proxy-protocol', field: 'proxyProtocol' })
  }
  if (healthCheck !== undefined) needs.push({ feature: 'health-check', field: 'healthCheck' })
  if ((slowStartMs ?? 0) > 0) needs.push({ feature: 'slow-start', field: 'slowStartMs' })
  const draining = servers.findIndex(({ drain }) => drain)
  if (draining >= 0) needs.push({ feature: 'drain', field: `servers[${draining}].drain` })
  return needs.length === 0 ? nothing : needs
}

/**
 * What the software of a node must be able to do for a resource. A field that older nodes would pass over in
 * silence has a line here; a node that did not name the feature in its hello is not sent such a version.
 */
import type { Resource } from './resources.ts'

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
    case 'service': {
      const isUsed = (resource.spec.proxyProtocol ?? 'off') !== 'off'
      return isUsed ? [{ feature: 'proxy-protocol', field: 'proxyProtocol' }] : nothing
    }
    case 'router':
    case 'certificate':
    case 'settings':
      return nothing
  }
}

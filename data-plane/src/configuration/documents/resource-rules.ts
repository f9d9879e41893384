/** The rules of one resource and between resources that no schema can say, the same as the control plane's. */
import { type EntryPoint, EntryPointProtocol, type Router, type Service } from '@sluice/proto'
import {
  addressesCollide,
  addressReason,
  hostReason,
  labelsReason,
  methodReason,
  pathPrefixReason,
  rangeReason,
  regexReason,
  serverUrlReason,
} from './field-rules.ts'
import type { Finding } from './schema-problems.ts'
import { type DocumentKind, documentLimits } from './schemas.ts'
import type { ResourceValue } from './to-resource.ts'

/** Whether the file describes an object, be it well or not. */
export type IsDescribed = (kind: DocumentKind, name: string) => boolean

export function resourceFindings(
  resource: ResourceValue,
  isDescribed: IsDescribed,
): readonly Finding[] {
  switch (resource.$case) {
    case 'entryPoint':
      return entryPointFindings(resource.value, isDescribed)
    case 'router':
      return routerFindings(resource.value, isDescribed)
    case 'service':
      return serviceFindings(resource.value)
    case 'certificate':
    case 'settings':
      return []
  }
}

/** What is wrong with an entry point beside those that stand before it. */
export function neighbourFindings(
  { address }: EntryPoint,
  before: readonly EntryPoint[],
): readonly Finding[] {
  const max = documentLimits.entryPointsMax
  if (before.length === max) return [{ field: '', reason: `is one more than the ${max} allowed` }]
  return before
    .filter((other) => addressesCollide(address, other.address))
    .map((other) => ({
      field: 'address',
      reason: `"${address}" collides with that of entry point "${other.name}" ("${other.address}")`,
    }))
}

function entryPointFindings(entryPoint: EntryPoint, isDescribed: IsDescribed): Finding[] {
  const { address, protocol, trustedPeers, defaultCertificate } = entryPoint
  const found = listFindings('trustedPeers', trustedPeers, rangeReason)
  const reason = addressReason(address)
  if (reason !== undefined) found.push({ field: 'address', reason })
  if (defaultCertificate === '') return found
  if (protocol === EntryPointProtocol.HTTP) {
    const useless = 'is of no use on an entry point whose protocol is http'
    found.push({ field: 'defaultCertificate', reason: useless })
  }
  if (!isDescribed('certificate', defaultCertificate)) {
    found.push(missing('defaultCertificate', `certificate "${defaultCertificate}"`))
  }
  return found
}

function routerFindings(router: Router, isDescribed: IsDescribed): Finding[] {
  const found: Finding[] = []
  if (router.match !== undefined) {
    const { hosts, pathPrefixes, pathRegexes, methods, clientRanges } = router.match
    found.push(
      ...listFindings('match.hosts', hosts, hostReason),
      ...listFindings('match.pathPrefixes', pathPrefixes, pathPrefixReason),
      ...listFindings('match.pathRegexes', pathRegexes, regexReason),
      ...listFindings('match.methods', methods, methodReason),
      ...listFindings('match.clientRanges', clientRanges, rangeReason),
    )
  }
  const reason = labelsReason(router.nodes)
  if (reason !== undefined) found.push({ field: 'nodes', reason })
  if (!isDescribed('service', router.service)) {
    found.push(missing('service', `service "${router.service}"`))
  }
  for (const [index, name] of router.entryPoints.entries()) {
    if (isDescribed('entry-point', name)) continue
    found.push(missing(`entryPoints[${index}]`, `entry point "${name}"`))
  }
  return found
}

function serviceFindings({ servers }: Service): Finding[] {
  const found = servers.flatMap(({ url }, index) => {
    const reason = serverUrlReason(url)
    return reason === undefined ? [] : [{ field: `servers[${index}].url`, reason }]
  })
  if (servers.every(({ weight }) => weight === 0)) {
    found.push({ field: 'servers', reason: 'have no weight above 0, so none would get a request' })
  }
  return found
}

function listFindings(
  field: string,
  values: readonly string[],
  check: (value: string) => string | undefined,
): Finding[] {
  return values.flatMap((value, index) => {
    const reason = check(value)
    return reason === undefined ? [] : [{ field: `${field}[${index}]`, reason }]
  })
}

function missing(field: string, object: string): Finding {
  return { field, reason: `refers to ${object}, which does not exist` }
}

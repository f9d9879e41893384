/** The rules that one resource must keep whatever else is configured. Certificates: publishing/certificates.ts. */
import {
  addressReason,
  hostReason,
  methodReason,
  pathPrefixReason,
  rangeReason,
  regexReason,
  serverUrlReason,
} from './fields.ts'
import { type Problem, SETTINGS_NAME } from './kinds.ts'
import { findLabelProblem } from './labels.ts'
import type { EntryPoint, Resource, Router, Service } from './resources.ts'

interface Finding {
  readonly field: string
  readonly reason: string
}

/** Every problem with the resource's own fields. */
export function checkResource(resource: Resource): Problem[] {
  const name = nameOf(resource)
  return findings(resource).map((finding) => ({ kind: resource.kind, name, ...finding }))
}

export function nameOf(resource: Resource): string {
  return resource.kind === 'settings' ? SETTINGS_NAME : resource.spec.name
}

/** Reports the entries of a list that a check does not pass. */
export function checkList(
  field: string,
  values: readonly string[],
  check: (value: string) => string | undefined,
): Finding[] {
  return values.flatMap((value, index) => {
    const reason = check(value)
    return reason === undefined ? [] : [{ field: `${field}[${index}]`, reason }]
  })
}

function findings(resource: Resource): Finding[] {
  switch (resource.kind) {
    case 'entry-point':
      return checkEntryPoint(resource.spec)
    case 'router':
      return checkRouter(resource.spec)
    case 'service':
      return checkService(resource.spec)
    case 'certificate':
    case 'settings':
      return []
  }
}

function checkEntryPoint(entryPoint: EntryPoint): Finding[] {
  const found = [
    ...checkList('trustedPeers', entryPoint.trustedPeers, rangeReason),
    ...checkList('proxyProtocolPeers', entryPoint.proxyProtocolPeers, rangeReason),
  ]
  const reason = addressReason(entryPoint.address)
  if (reason !== undefined) found.push({ field: 'address', reason })
  if (entryPoint.protocol === 'http' && entryPoint.defaultCertificate !== undefined) {
    found.push({
      field: 'defaultCertificate',
      reason: 'is of no use on an entry point whose protocol is http',
    })
  }
  return found
}

function checkRouter({ match, nodes }: Router): Finding[] {
  // One that was stored before the field existed has none.
  const reason = findLabelProblem(nodes ?? {})
  return [
    ...(reason === undefined ? [] : [{ field: 'nodes', reason }]),
    ...checkList('match.hosts', match.hosts, hostReason),
    ...checkList('match.pathPrefixes', match.pathPrefixes, pathPrefixReason),
    ...checkList('match.pathRegexes', match.pathRegexes, regexReason),
    ...checkList('match.methods', match.methods, methodReason),
    ...checkList('match.clientRanges', match.clientRanges, rangeReason),
  ]
}

/** Printable ASCII without a fragment. */
const PROBE_PATH = /^\/(?!\/)[\x21\x22\x24-\x7e]*$/

function checkService({ servers, healthCheck }: Service): Finding[] {
  const found = servers.flatMap(({ url }, index) => {
    const reason = serverUrlReason(url)
    return reason === undefined ? [] : [{ field: `servers[${index}].url`, reason }]
  })
  if (servers.every(({ weight }) => weight === 0)) {
    found.push({ field: 'servers', reason: 'have no weight above 0, so none would get a request' })
  }
  if (healthCheck !== undefined && !PROBE_PATH.test(healthCheck.path)) {
    const reason = `"${healthCheck.path}" is not a path that begins with one "/"`
    found.push({ field: 'healthCheck.path', reason })
  }
  return found
}

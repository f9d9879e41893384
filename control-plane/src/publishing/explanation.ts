/**
 * What nodes would do with a request, told by the matcher that they run: entry point, router with those that
 * nearly took it, service, servers and certificate. Pure.
 */
import {
  type Condition,
  canonicalHost,
  certificateTable,
  compareConditions,
  conditionsOf,
  explainMatch,
  findCertificate,
  isOnEntryPoint,
  normalisePath,
  type RouteEntry,
} from '@sluice/matching'
import type { Configuration } from '../model/configuration.ts'
import type { EntryPoint, Router, Service } from '../model/resources.ts'
import type { ExplainedRequest } from './explained-request.ts'

export interface NearRouter {
  readonly name: string
  /** Why it does not take the request. */
  readonly reason: string
}

export interface ServerCandidate {
  readonly url: string
  readonly weight: number
  /** Of the service's requests, while all servers can be reached. */
  readonly share: number
}

export interface Explanation {
  readonly outcome:
    | 'forwarded'
    | 'draining'
    | 'not-found'
    | 'malformed'
    | 'no-entry-point'
    | 'no-certificate'
  /** The outcome in a sentence. */
  readonly reason: string
  /** As routers are matched against. */
  readonly request: { host: string; path: string; method: string; client: string }
  readonly entryPoint: Pick<EntryPoint, 'name' | 'address' | 'protocol'> | null
  /** Others that the request could come in by. */
  readonly otherEntryPoints: readonly string[]
  readonly router: { readonly name: string; readonly priority: number } | null
  readonly nearRouters: readonly NearRouter[]
  readonly service: string | null
  readonly servers: readonly ServerCandidate[]
  readonly certificate: { name: string; hosts: readonly string[]; isDefault: boolean } | null
}

const nearRoutersMax = 10

export function explain(configuration: Configuration, asked: ExplainedRequest): Explanation {
  const path = normalisePath(asked.path)
  const request = {
    host: canonicalHost(asked.host),
    path: path?.matched ?? asked.path,
    method: asked.method,
    client: asked.from,
  }
  const [entryPoint, ...others] = entryPointsFor(configuration, asked)
  const nothing = {
    request,
    entryPoint: null,
    otherEntryPoints: others.map(({ name }) => name),
    router: null,
    nearRouters: [],
    service: null,
    servers: [],
    certificate: null,
  }
  if (entryPoint === undefined) {
    const reason = asked.entryPoint
      ? `there is no entry point "${asked.entryPoint}"`
      : `there is no entry point whose protocol is ${asked.scheme}`
    return { ...nothing, outcome: 'no-entry-point', reason }
  }
  const { name, address, protocol } = entryPoint
  const certificate = certificateFor(configuration, entryPoint, asked.serverName)
  const reached = { ...nothing, entryPoint: { name, address, protocol }, certificate }
  if (protocol === 'https' && certificate === null) {
    const reason = `no certificate covers "${asked.serverName}", and entry point "${name}" has no default one: the handshake is refused`
    return { ...reached, outcome: 'no-certificate', reason }
  }
  if (path === undefined || !asked.isQueryWhole) {
    const reason = 'the path or query is malformed, or climbs above the root: the answer is 400'
    return { ...reached, outcome: 'malformed', reason }
  }
  const entries = entriesOn(configuration, name)
  const { target: taken, near } = explainMatch(entries, request, nearRoutersMax)
  const nearRouters = near.map(({ target: other, failed }) => ({
    name: other.name,
    reason: nearReason(other, failed, request, taken),
  }))
  if (taken === undefined) {
    const reason = `no router of entry point "${name}" takes the request: the answer is 404`
    return { ...reached, nearRouters, outcome: 'not-found', reason }
  }
  return {
    ...reached,
    nearRouters,
    ...fateAt(taken),
    router: { name: taken.name, priority: taken.priority },
    service: taken.service,
    servers: candidatesOf(configuration.services.get(taken.service)),
  }
}

function fateAt({ name, service, drain }: Router): Pick<Explanation, 'outcome' | 'reason'> {
  if (drain) return { outcome: 'draining', reason: `router "${name}" drains: the answer is 503` }
  const reason = `router "${name}" forwards the request to service "${service}"`
  return { outcome: 'forwarded', reason }
}

/** The one that was asked for, else those of the protocol, with the URL's port first. */
function entryPointsFor(configuration: Configuration, asked: ExplainedRequest): EntryPoint[] {
  const all = [...configuration.entryPoints.values()]
  if (asked.entryPoint !== undefined) return all.filter(({ name }) => name === asked.entryPoint)
  const hasPort = ({ address }: EntryPoint) => address.endsWith(`:${asked.port}`)
  return all
    .filter(({ protocol }) => protocol === asked.scheme)
    .sort((a, b) => Number(hasPort(b)) - Number(hasPort(a)) || (a.name < b.name ? -1 : 1))
}

function certificateFor(
  { certificates }: Configuration,
  entryPoint: EntryPoint,
  serverName: string,
): Explanation['certificate'] {
  if (entryPoint.protocol !== 'https') return null
  const table = certificateTable([...certificates.values()])
  const named = findCertificate(table, serverName)
  const found = named ?? table.byName.get(entryPoint.defaultCertificate ?? '')
  if (found === undefined) return null
  return { name: found.name, hosts: found.hosts, isDefault: named === undefined }
}

type Entries = readonly RouteEntry<Router>[]

/** Versions are immutable, so what was made of one is kept as long as it is. */
const inOrder = new WeakMap<Configuration, Entries>()

function entriesOn(configuration: Configuration, entryPoint: string): Entries {
  const entries = inOrder.get(configuration) ?? entriesOf(configuration)
  inOrder.set(configuration, entries)
  return entries.filter(({ target }) => isOnEntryPoint(target, entryPoint))
}

function entriesOf({ routers }: Configuration): Entries {
  return Array.from(routers.values())
    .flatMap((target) => {
      // What a published router has wrong was refused before it was published.
      const conditions = conditionsOf(target, () => undefined)
      return conditions.map((condition) => ({ ...condition, target }))
    })
    .sort(compareConditions)
}

function candidatesOf(service: Service | undefined): ServerCandidate[] {
  const servers = (service?.servers ?? []).filter(({ drain }) => !drain)
  const total = servers.reduce((sum, { weight }) => sum + weight, 0)
  return servers
    .filter(({ weight }) => weight > 0)
    .map(({ url, weight }) => ({ url, weight, share: weight / total }))
}

function nearReason(
  { match, priority }: Router,
  failed: Condition | undefined,
  request: Explanation['request'],
  taken: Router | undefined,
): string {
  switch (failed) {
    case undefined:
      return `matches too, but router "${taken?.name}" comes first (priority ${taken?.priority}, here ${priority})`
    case 'host':
      return `host "${request.host}" is not ${listed(match.hosts)}`
    case 'path':
      return `path "${request.path}" is not ${listed([...match.pathPrefixes, ...match.pathRegexes])}`
    case 'method':
      return `method ${request.method} is not ${listed(match.methods)}`
    case 'client':
      return `client ${request.client || 'without an address'} is not in ${listed(match.clientRanges)}`
  }
}

function listed(values: readonly string[]): string {
  const shown = values.slice(0, 5).join(', ')
  return values.length > 5 ? `${shown} or ${values.length - 5} more` : shown
}

/**
 * Why a request gets the router that it gets: the table's own answer, and the routers that would have had it
 * with one condition less. For people who ask; workers never come here.
 */
import { isIPv6 } from 'node:net'
import { type RouteEntry, RouteTable } from './route-table.ts'

export type Condition = 'host' | 'path' | 'method' | 'client'

/** In the form that RouteTable.match expects. */
export interface MatchRequest {
  readonly host: string
  readonly path: string
  readonly method: string
  readonly client: string
}

export interface NearMatch {
  readonly router: number
  /** The condition that does not hold; undefined: all hold, and another router comes first. */
  readonly failed: Condition | undefined
}

export interface MatchExplanation {
  /** NO_ROUTER of route-table.ts: none. */
  readonly router: number
  /** The nearest first: what comes second, then what one condition keeps away. */
  readonly near: readonly NearMatch[]
}

/** `entries`: those of one entry point, in the order of their ranks. */
export function explainMatch(
  entries: readonly RouteEntry[],
  request: MatchRequest,
  nearMax: number,
): MatchExplanation {
  const { host, path, method, client } = request
  const router = new RouteTable(entries).match(host, path, method, client)
  const behind = new Map<number, NearMatch>()
  const kept = new Map<number, NearMatch>()
  for (const entry of entries) {
    if (entry.router === router || behind.has(entry.router)) continue
    const [failed, ...others] = failedConditions(entry, request)
    if (others.length > 0) continue
    const near = { router: entry.router, failed }
    if (failed === undefined) behind.set(entry.router, near)
    else if (!kept.has(entry.router)) kept.set(entry.router, near)
  }
  const near = [...behind.values(), ...[...kept.values()].filter((one) => !behind.has(one.router))]
  return { router, near: near.slice(0, nearMax) }
}

/** Empty: the entry takes the request, unless one of a lower rank does. */
export function failedConditions(entry: RouteEntry, request: MatchRequest): Condition[] {
  const failed: Condition[] = []
  if (!isHost(entry.host, request.host)) failed.push('host')
  if (!isPath(entry, request.path)) failed.push('path')
  if (entry.methods !== undefined && !entry.methods.has(request.method)) failed.push('method')
  if (entry.clientRanges !== undefined && !isClient(entry.clientRanges, request.client)) {
    failed.push('client')
  }
  return failed
}

function isHost(wanted: string, host: string): boolean {
  if (wanted === '' || wanted === host) return true
  const dot = host.indexOf('.')
  return wanted.startsWith('*') && dot > 0 && host.slice(dot) === wanted.slice(1)
}

function isPath({ path: wanted }: RouteEntry, path: string): boolean {
  switch (wanted.kind) {
    case 'any':
      return true
    case 'prefix':
      return path === wanted.prefix || path.startsWith(`${wanted.prefix}/`)
    case 'regex':
      return wanted.regex.testExact(path)
  }
}

function isClient(ranges: NonNullable<RouteEntry['clientRanges']>, client: string): boolean {
  return client !== '' && ranges.check(client, isIPv6(client) ? 'ipv6' : 'ipv4')
}

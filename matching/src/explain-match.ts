/**
 * Why a request gets the router that it gets: the table's own answer, and the routers that would have had it
 * with one condition less. For people who ask; workers never come here.
 */
import { isIPv6 } from 'node:net'
import { type RouteCondition, type RouteEntry, RouteTable } from './route-table.ts'

export type Condition = 'host' | 'path' | 'method' | 'client'

/** In the form that RouteTable.match expects. */
export interface MatchRequest {
  readonly host: string
  readonly path: string
  readonly method: string
  readonly client: string
}

export interface NearMatch<T> {
  readonly target: T
  /** The condition that does not hold; undefined: all hold, and another router comes first. */
  readonly failed: Condition | undefined
}

export interface MatchExplanation<T> {
  /** undefined: nothing takes the request. */
  readonly target: T | undefined
  /** The nearest first: what comes second, then what one condition keeps away. */
  readonly near: readonly NearMatch<T>[]
}

/** `entries`: those of one entry point, in the order of compareConditions. */
export function explainMatch<T>(
  entries: readonly RouteEntry<T>[],
  request: MatchRequest,
  nearMax: number,
): MatchExplanation<T> {
  const { host, path, method, client } = request
  const table = new RouteTable<T>()
  for (const entry of entries) table.add(entry)
  const taken = table.match(host, path, method, client)
  const behind = new Map<T, NearMatch<T>>()
  const kept = new Map<T, NearMatch<T>>()
  for (const entry of entries) {
    const { target } = entry
    if (target === taken || behind.has(target)) continue
    const [failed, ...others] = failedConditions(entry, request)
    if (others.length > 0) continue
    const near = { target, failed }
    if (failed === undefined) behind.set(target, near)
    else if (!kept.has(target)) kept.set(target, near)
  }
  const near = [...behind.values(), ...[...kept.values()].filter((one) => !behind.has(one.target))]
  return { target: taken, near: near.slice(0, nearMax) }
}

/** Empty: the entry takes the request, unless one before it does. */
export function failedConditions(entry: RouteCondition, request: MatchRequest): Condition[] {
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

function isPath({ path: wanted }: RouteCondition, path: string): boolean {
  switch (wanted.kind) {
    case 'any':
      return true
    case 'prefix':
      return path === wanted.prefix || path.startsWith(`${wanted.prefix}/`)
    case 'regex':
      return wanted.regex.testExact(path)
  }
}

function isClient(ranges: NonNullable<RouteCondition['clientRanges']>, client: string): boolean {
  return client !== '' && ranges.check(client, isIPv6(client) ? 'ipv6' : 'ipv4')
}

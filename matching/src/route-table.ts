/**
 * Which router takes a request. The order is fixed when a version is compiled and is the same on every node:
 * priority first, then the host (exact, longer wildcard, any), then the path (regex, longer prefix, any),
 * then the number of further conditions, then the name. Lookup cost does not grow with the number of hosts
 * or of prefixes. Pure; used by the worker for each request and by nothing else at run time.
 */
import { type BlockList, isIPv6 } from 'node:net'
import type { RE2JS } from 're2js'

/** One router, taken apart so that each entry has one host and one path condition. */
export interface RouteEntry {
  readonly router: number
  /** Place in the order of all entries; the lowest that matches wins. */
  readonly rank: number
  /** '' for any host, "*.example.com" for one label in front. */
  readonly host: string
  readonly path: PathCondition
  /** undefined: any. */
  readonly methods: ReadonlySet<string> | undefined
  readonly clientRanges: BlockList | undefined
}

export type PathCondition =
  | { readonly kind: 'any' }
  | { readonly kind: 'prefix'; readonly prefix: string }
  | { readonly kind: 'regex'; readonly regex: RE2JS; readonly source: string }

export const NO_ROUTER = -1

const NO_RANK = Number.MAX_SAFE_INTEGER

const NO_ENTRIES: readonly RouteEntry[] = Object.freeze([])

/** The entries of one host, by path. Most hosts have one kind of entry, so each place is made when it is used. */
class PathTable {
  #byPrefix: Map<string, RouteEntry[]> | undefined
  #others: RouteEntry[] | undefined

  add(entry: RouteEntry): void {
    if (entry.path.kind !== 'prefix') {
      if (this.#others === undefined) this.#others = [entry]
      else this.#others.push(entry)
      return
    }
    this.#byPrefix ??= new Map()
    const entries = this.#byPrefix.get(entry.path.prefix)
    if (entries === undefined) this.#byPrefix.set(entry.path.prefix, [entry])
    else entries.push(entry)
  }

  /** The best entry that ranks before `best`, or `best`. */
  find(path: string, method: string, client: string, best: RouteEntry | undefined) {
    let found = firstMatch(this.#others ?? NO_ENTRIES, path, method, client, best)
    const byPrefix = this.#byPrefix
    if (byPrefix === undefined) return found
    // Every prefix that ends at a segment's end, the whole path first.
    let end = path.length
    while (end > 0) {
      const entries = byPrefix.get(end === path.length ? path : path.slice(0, end))
      if (entries !== undefined) found = firstMatch(entries, path, method, client, found)
      end = path.lastIndexOf('/', end - 1)
    }
    return found
  }
}

/** Entries are in the order of their ranks. */
function firstMatch(
  entries: readonly RouteEntry[],
  path: string,
  method: string,
  client: string,
  best: RouteEntry | undefined,
): RouteEntry | undefined {
  const bestRank = best === undefined ? NO_RANK : best.rank
  for (const entry of entries) {
    if (entry.rank >= bestRank) return best
    if (entry.path.kind === 'regex' && !entry.path.regex.testExact(path)) continue
    if (entry.methods !== undefined && !entry.methods.has(method)) continue
    if (entry.clientRanges !== undefined && !isInRanges(entry.clientRanges, client)) continue
    return entry
  }
  return best
}

function isInRanges(ranges: BlockList, client: string): boolean {
  if (client === '') return false
  return ranges.check(client, isIPv6(client) ? 'ipv6' : 'ipv4')
}

export class RouteTable {
  readonly #exact = new Map<string, PathTable>()
  readonly #wildcard = new Map<string, PathTable>()
  readonly #any = new PathTable()

  /** The entries must come in the order of their ranks. */
  constructor(entries: readonly RouteEntry[]) {
    for (const entry of entries) this.#tableOf(entry.host).add(entry)
  }

  /**
   * The router's number, or NO_ROUTER. `host`: canonical, '' for none. `path`: normalised, without the query.
   * `client`: an IP address.
   */
  match(host: string, path: string, method: string, client: string): number {
    let found = this.#exact.get(host)?.find(path, method, client, undefined)
    if (this.#wildcard.size > 0) {
      const dot = host.indexOf('.')
      if (dot > 0) {
        const table = this.#wildcard.get(host.slice(dot))
        if (table !== undefined) found = table.find(path, method, client, found)
      }
    }
    found = this.#any.find(path, method, client, found)
    return found === undefined ? NO_ROUTER : found.router
  }

  #tableOf(host: string): PathTable {
    if (host === '') return this.#any
    const isWildcard = host.startsWith('*')
    const tables = isWildcard ? this.#wildcard : this.#exact
    const key = isWildcard ? host.slice(1) : host
    let table = tables.get(key)
    if (table === undefined) {
      table = new PathTable()
      tables.set(key, table)
    }
    return table
  }
}

const PATH_ORDER = { regex: 0, prefix: 1, any: 2 } as const

export type UnrankedEntry = Omit<RouteEntry, 'rank'> & {
  readonly name: string
  readonly priority: number
}

/** Gives each entry its rank by the order in the header. */
export function rank(entries: readonly UnrankedEntry[]): RouteEntry[] {
  return entries.toSorted(compareEntries).map((entry, index) => ({ ...entry, rank: index }))
}

function compareEntries(a: UnrankedEntry, b: UnrankedEntry): number {
  return (
    b.priority - a.priority ||
    hostOrder(a.host) - hostOrder(b.host) ||
    b.host.length - a.host.length ||
    PATH_ORDER[a.path.kind] - PATH_ORDER[b.path.kind] ||
    pathText(b.path).length - pathText(a.path).length ||
    conditionCount(b) - conditionCount(a) ||
    compareText(a.name, b.name) ||
    compareText(a.host, b.host) ||
    compareText(pathText(a.path), pathText(b.path))
  )
}

function hostOrder(host: string): number {
  if (host === '') return 2
  return host.startsWith('*') ? 1 : 0
}

function pathText(path: PathCondition): string {
  switch (path.kind) {
    case 'any':
      return ''
    case 'prefix':
      return path.prefix
    case 'regex':
      return path.source
  }
}

function conditionCount(entry: UnrankedEntry): number {
  return (entry.methods === undefined ? 0 : 1) + (entry.clientRanges === undefined ? 0 : 1)
}

function compareText(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}

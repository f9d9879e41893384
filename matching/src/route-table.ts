/**
 * Which router takes a request. The order is the same on every node and does not depend on how a table came to
 * be: priority first, then the host (exact, longer wildcard, any), then the path (regex, longer prefix, any),
 * then the number of further conditions, then the name. Neither a lookup nor a change costs more with more
 * hosts or prefixes. Pure; used by the worker for each request.
 */
import { type BlockList, isIPv6 } from 'node:net'
import type { RE2JS } from 're2js'

/** One condition of a router: one host and one path. */
export interface RouteCondition {
  /** The router's. */
  readonly name: string
  readonly priority: number
  /** Place among conditions of the same priority, by host, path and number of conditions; lower comes first. */
  readonly order: number
  /** '' for any host, "*.example.com" for one label in front. */
  readonly host: string
  readonly path: PathCondition
  /** undefined: any. */
  readonly methods: ReadonlySet<string> | undefined
  readonly clientRanges: BlockList | undefined
}

/** A condition and what the requests get that it takes. */
export interface RouteEntry<T> extends RouteCondition {
  readonly target: T
}

export type PathCondition =
  | { readonly kind: 'any' }
  | { readonly kind: 'prefix'; readonly prefix: string }
  | { readonly kind: 'regex'; readonly regex: RE2JS; readonly source: string }

const NO_ENTRIES: readonly never[] = Object.freeze([])

/** The entries of one host, by path. Most hosts have one kind of entry, so each place is made when it is used. */
class PathTable<T> {
  #byPrefix: Map<string, RouteEntry<T>[]> | undefined
  #others: RouteEntry<T>[] | undefined

  get isEmpty(): boolean {
    return (this.#byPrefix?.size ?? 0) === 0 && (this.#others?.length ?? 0) === 0
  }

  add(entry: RouteEntry<T>): void {
    if (entry.path.kind !== 'prefix') {
      if (this.#others === undefined) this.#others = [entry]
      else insert(this.#others, entry)
      return
    }
    this.#byPrefix ??= new Map()
    const entries = this.#byPrefix.get(entry.path.prefix)
    if (entries === undefined) this.#byPrefix.set(entry.path.prefix, [entry])
    else insert(entries, entry)
  }

  remove(entry: RouteEntry<T>): void {
    if (entry.path.kind !== 'prefix') {
      if (this.#others !== undefined) takeOut(this.#others, entry)
      return
    }
    const entries = this.#byPrefix?.get(entry.path.prefix)
    if (entries === undefined) return
    takeOut(entries, entry)
    if (entries.length === 0) this.#byPrefix?.delete(entry.path.prefix)
  }

  /** The best entry that comes before `best`, or `best`. */
  find(
    path: string,
    method: string,
    client: string,
    best: RouteEntry<T> | undefined,
  ): RouteEntry<T> | undefined {
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

/** Entries are in their order. */
function firstMatch<T>(
  entries: readonly RouteEntry<T>[],
  path: string,
  method: string,
  client: string,
  best: RouteEntry<T> | undefined,
): RouteEntry<T> | undefined {
  for (const entry of entries) {
    if (best !== undefined && !isBefore(entry, best)) return best
    if (entry.path.kind === 'regex' && !entry.path.regex.testExact(path)) continue
    if (entry.methods !== undefined && !entry.methods.has(method)) continue
    if (entry.clientRanges !== undefined && !isInRanges(entry.clientRanges, client)) continue
    return entry
  }
  return best
}

/** Enough where host or path differ, as between entries of different lists. */
function isBefore(one: RouteCondition, other: RouteCondition): boolean {
  return one.priority === other.priority ? one.order < other.order : one.priority > other.priority
}

function isInRanges(ranges: BlockList, client: string): boolean {
  if (client === '') return false
  return ranges.check(client, isIPv6(client) ? 'ipv6' : 'ipv4')
}

export class RouteTable<T> {
  readonly #exact = new Map<string, PathTable<T>>()
  readonly #wildcard = new Map<string, PathTable<T>>()
  readonly #any = new PathTable<T>()

  add(entry: RouteEntry<T>): void {
    if (entry.host === '') {
      this.#any.add(entry)
      return
    }
    const { tables, key } = this.#placeOf(entry.host)
    let table = tables.get(key)
    if (table === undefined) {
      table = new PathTable()
      tables.set(key, table)
    }
    table.add(entry)
  }

  /** `entry`: the object that was added. */
  remove(entry: RouteEntry<T>): void {
    if (entry.host === '') {
      this.#any.remove(entry)
      return
    }
    const { tables, key } = this.#placeOf(entry.host)
    const table = tables.get(key)
    table?.remove(entry)
    if (table?.isEmpty === true) tables.delete(key)
  }

  /**
   * The target of the entry that takes the request. `host`: canonical, '' for none. `path`: normalised, without
   * the query. `client`: an IP address.
   */
  match(host: string, path: string, method: string, client: string): T | undefined {
    let found = this.#exact.get(host)?.find(path, method, client, undefined)
    if (this.#wildcard.size > 0) {
      const dot = host.indexOf('.')
      if (dot > 0) {
        const table = this.#wildcard.get(host.slice(dot))
        if (table !== undefined) found = table.find(path, method, client, found)
      }
    }
    found = this.#any.find(path, method, client, found)
    return found?.target
  }

  #placeOf(host: string): { tables: Map<string, PathTable<T>>; key: string } {
    return host.startsWith('*')
      ? { tables: this.#wildcard, key: host.slice(1) }
      : { tables: this.#exact, key: host }
  }
}

const PATH_ORDER = { regex: 0, prefix: 1, any: 2 } as const
const HOST_LENGTH_MAX = 255
/** Of what can match a path that fits into a request line. */
const PATH_LENGTH_MAX = 65_535
const CONDITIONS_MAX = 2

/** The `order` of a condition, with all of it in one small integer. */
export function orderOf(condition: Omit<RouteCondition, 'order'>): number {
  const { host, path } = condition
  const hostKind = host === '' ? 2 : host.startsWith('*') ? 1 : 0
  const byHost = hostKind * (HOST_LENGTH_MAX + 1) + HOST_LENGTH_MAX - host.length
  const byPath = byHost * 3 + PATH_ORDER[path.kind]
  const length = Math.min(pathText(path).length, PATH_LENGTH_MAX)
  const byLength = byPath * (PATH_LENGTH_MAX + 1) + PATH_LENGTH_MAX - length
  return byLength * (CONDITIONS_MAX + 1) + CONDITIONS_MAX - conditionCount(condition)
}

/** For Array.sort: the order in which conditions are tried. */
export function compareConditions(a: RouteCondition, b: RouteCondition): number {
  return (
    b.priority - a.priority ||
    a.order - b.order ||
    compareText(a.name, b.name) ||
    compareText(a.host, b.host) ||
    compareText(pathText(a.path), pathText(b.path))
  )
}

function insert<T>(entries: RouteEntry<T>[], entry: RouteEntry<T>): void {
  let from = 0
  let to = entries.length
  while (from < to) {
    const middle = (from + to) >>> 1
    const other = entries[middle]
    if (other !== undefined && compareConditions(other, entry) <= 0) from = middle + 1
    else to = middle
  }
  entries.splice(from, 0, entry)
}

function takeOut<T>(entries: RouteEntry<T>[], entry: RouteEntry<T>): void {
  const at = entries.indexOf(entry)
  if (at >= 0) entries.splice(at, 1)
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

function conditionCount({ methods, clientRanges }: Omit<RouteCondition, 'order'>): number {
  return (methods === undefined ? 0 : 1) + (clientRanges === undefined ? 0 : 1)
}

function compareText(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}

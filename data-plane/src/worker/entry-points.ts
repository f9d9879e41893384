/**
 * The entry points of a worker with the routers of each. A version is applied in place, in one turn of the event
 * loop and at the cost of what it changes: an exchange keeps the route that it began with.
 */
import { isOnEntryPoint, type RouteEntry, RouteTable } from '@sluice/matching'
import { ResourceKind } from '@sluice/proto'
import type { ConfigurationChange } from '../configuration/configuration.ts'
import type { EntryPointPart, RouterPart } from '../configuration/resource-part.ts'
import type { Route } from './engine.ts'
import type { ClientConnection } from './exchange/client-connection.ts'
import type { EntryPoint } from './exchange/entry-point.ts'

interface PlacedRouter {
  readonly part: RouterPart
  readonly route: Route
  readonly entries: readonly RouteEntry<Route>[]
}

export class EntryPoints {
  readonly #byName = new Map<string, EntryPoint>()
  /** Those that are in no version any more and still have connections. */
  #removed: EntryPoint[] = []
  readonly #routers = new Map<string, PlacedRouter>()
  /** Of the routers that drain, by their names. */
  readonly #draining = new Map<string, Route>()

  get(name: string): EntryPoint | undefined {
    return this.#byName.get(name)
  }

  /** Of all entry points, those that are gone included. */
  connections(): ClientConnection[] {
    const entryPoints = [...this.#removed, ...this.#byName.values()]
    return entryPoints.flatMap(({ connections }) => [...connections])
  }

  /** Of the routers that drain. */
  drainingRoutes(): Route[] {
    return [...this.#draining.values()]
  }

  /** Returns the routes that no new exchange gets any more. */
  apply(
    { removed, come }: ConfigurationChange,
    routeOf: (router: RouterPart) => Route,
  ): readonly Route[] {
    this.#removed = this.#removed.filter(({ connections }) => connections.size > 0)
    const gone: Route[] = []
    const takeOut = (name: string) => {
      const router = this.#takeOut(name)
      if (router !== undefined) gone.push(router.route)
    }
    for (const { kind, name } of removed) {
      if (kind === ResourceKind.ROUTER) takeOut(name)
      if (kind === ResourceKind.ENTRY_POINT) this.#end(name)
    }
    for (const part of come) {
      if (part.kind === 'router') takeOut(part.name)
      if (part.kind === 'entryPoint') this.#set(part)
    }
    for (const part of come) if (part.kind === 'router') this.#place(part, routeOf(part))
    return gone
  }

  #set(part: EntryPointPart): void {
    const { name, protocol, defaultCertificate, trustedPeers, proxyProtocolPeers } = part
    const existing = this.#byName.get(name)
    if (existing?.scheme === protocol) {
      const { table } = existing.routing
      existing.routing = { table, trustedPeers, proxyProtocolPeers }
      existing.defaultCertificate = defaultCertificate
      return
    }
    this.#end(name)
    const table = new RouteTable<Route>()
    for (const router of this.#routers.values()) {
      if (!isOnEntryPoint(router.part, name)) continue
      for (const entry of router.entries) table.add(entry)
    }
    this.#byName.set(name, {
      name,
      scheme: protocol,
      connections: new Set(),
      isClosing: false,
      defaultCertificate,
      routing: { table, trustedPeers, proxyProtocolPeers },
    })
  }

  /** Its connections finish what they do, and end. */
  #end(name: string): void {
    const entryPoint = this.#byName.get(name)
    if (entryPoint === undefined) return
    entryPoint.isClosing = true
    this.#byName.delete(name)
    this.#removed.push(entryPoint)
  }

  #place(part: RouterPart, route: Route): void {
    const entries = part.conditions.map((condition) => ({ ...condition, target: route }))
    this.#routers.set(part.name, { part, route, entries })
    if (route.isDraining) this.#draining.set(part.name, route)
    for (const table of this.#tablesOf(part)) for (const entry of entries) table.add(entry)
  }

  #takeOut(name: string): PlacedRouter | undefined {
    const router = this.#routers.get(name)
    if (router === undefined) return undefined
    this.#routers.delete(name)
    this.#draining.delete(name)
    for (const table of this.#tablesOf(router.part)) {
      for (const entry of router.entries) table.remove(entry)
    }
    return router
  }

  #tablesOf(part: RouterPart): RouteTable<Route>[] {
    const entryPoints = [...this.#byName.values()].filter(({ name }) => isOnEntryPoint(part, name))
    return entryPoints.map(({ routing }) => routing.table)
  }
}

/**
 * All services and servers of a worker. What a new version keeps goes on with its connections and its turn. A
 * server that is configured by name is as many servers as the name has addresses, and its weight is split
 * evenly between them.
 */
import { isIP } from 'node:net'
import { isDeepStrictEqual } from 'node:util'
import { ResourceKind } from '@sluice/proto'
import type { ConfigurationChange } from '../../configuration/configuration.ts'
import type { CompiledServer, CompiledService } from '../../configuration/services.ts'
import { limits } from '../../limits.ts'
import type { DrainCount, Notice, UnhealthyServer } from '../../worker-protocol.ts'
import type { NameTable } from '../names/name-table.ts'
import type { WatchedName } from '../names/watched-name.ts'
import { ServerHealth } from './server-health.ts'
import { type ServerSettings, type UpstreamContext, UpstreamServer } from './upstream-server.ts'
import { type ServerShare, UpstreamService } from './upstream-service.ts'

interface Entry {
  readonly service: UpstreamService
  settings: CompiledService
  servers: ReadonlyMap<string, UpstreamServer>
  /** Those that drain, by the URL that is configured. */
  draining: ReadonlyMap<string, readonly UpstreamServer[]>
  /** As they are configured, healthy or not. */
  shares: readonly ServerShare[]
  /** Empty without a health check. */
  readonly health: Map<UpstreamServer, ServerHealth>
}

type Target = Pick<ServerSettings, 'host' | 'alternative' | 'name'>

export class UpstreamRegistry {
  readonly #context: UpstreamContext
  readonly #names: NameTable
  readonly #onNotice: (notice: Notice) => void
  readonly #entries = new Map<string, Entry>()
  /** By name: the services that have to change with it. */
  readonly #users = new Map<string, Set<Entry>>()

  constructor(context: UpstreamContext, names: NameTable, onNotice: (notice: Notice) => void) {
    this.#onNotice = onNotice
    this.#context = context
    this.#names = names
    names.onChange = ({ name }) => {
      for (const entry of this.#users.get(name) ?? []) this.#update(entry)
    }
  }

  get(service: string): UpstreamService | undefined {
    return this.#entries.get(service)?.service
  }

  /** Exchanges that run keep the server that they have. */
  apply({ removed, come }: ConfigurationChange): void {
    const changed: Entry[] = []
    const unused = new Set<string>()
    for (const part of come) {
      if (part.kind !== 'service') continue
      const { compiled, name } = part
      const entry = this.#entries.get(name) ?? this.#newEntry(compiled)
      this.#endUse(entry, unused)
      entry.settings = compiled
      this.#entries.set(name, entry)
      this.#beginUse(entry)
      changed.push(entry)
    }
    const replaced = new Set(changed)
    for (const { kind, name } of removed) {
      const entry = kind === ResourceKind.SERVICE ? this.#entries.get(name) : undefined
      if (entry === undefined || replaced.has(entry)) continue
      this.#entries.delete(name)
      this.#endUse(entry, unused)
      this.#end(entry)
    }
    for (const name of unused) if (!this.#users.has(name)) this.#names.release(name)
    for (const entry of changed) this.#update(entry)
  }

  /** Of the servers that drain. */
  drainCounts(): DrainCount[] {
    return [...this.#entries].flatMap(([name, { draining }]) =>
      Array.from(draining, ([serverUrl, servers]) => ({
        kind: 'service' as const,
        name,
        serverUrl,
        exchangesOpen: servers.reduce((sum, { exchangesOpen }) => sum + exchangesOpen, 0),
      })),
    )
  }

  /** Not more than a report has. */
  unhealthyServers(): UnhealthyServer[] {
    const found: UnhealthyServer[] = []
    for (const [service, { health }] of this.#entries) {
      for (const [{ settings }, { isHealthy }] of health) {
        if (found.length === limits.unhealthyServersMax) return found
        if (!isHealthy) found.push({ service, server: settings.authority })
      }
    }
    return found
  }

  #newEntry(settings: CompiledService): Entry {
    const service = new UpstreamService(this.#context.deadlines, this.#context.gauges)
    const none = { servers: new Map(), draining: new Map(), shares: [], health: new Map() }
    return { service, settings, ...none }
  }

  #beginUse(entry: Entry): void {
    for (const name of namesOf(entry.settings)) {
      const users = this.#users.get(name)
      if (users === undefined) this.#users.set(name, new Set([entry]))
      else users.add(entry)
      this.#names.watch(name)
    }
  }

  /** Adds the names that no service has any more to `unused`. */
  #endUse(entry: Entry, unused: Set<string>): void {
    for (const name of namesOf(entry.settings)) {
      const users = this.#users.get(name)
      users?.delete(entry)
      if (users?.size !== 0) continue
      this.#users.delete(name)
      unused.add(name)
    }
  }

  #end({ service, servers, health }: Entry): void {
    for (const server of servers.values()) server.leaveTurn()
    for (const server of [...health.keys()]) this.#endChecks(health, server)
    service.setServers([])
    service.admitWaiting()
  }

  /** Brings a service to its settings and to what its names stand for now. */
  #update(entry: Entry): void {
    const { service, settings } = entry
    const servers = new Map<string, UpstreamServer>()
    const draining = new Map<string, UpstreamServer[]>()
    const shares = settings.servers.flatMap((compiled, index) => {
      const targets = this.#targetsOf(compiled)
      return targets.map((target) => {
        // Connections that began otherwise cannot serve what a new version asks for.
        const key = `${compiled.host}\n${compiled.port}\n${occurrence(settings, index)}\n${target.host}\n${settings.proxyProtocol}`
        const server = this.#server(entry, key, serverSettings(settings, compiled, target))
        servers.set(key, server)
        if (compiled.isDraining) {
          const url = urlOf(compiled)
          draining.set(url, [...(draining.get(url) ?? []), server])
        }
        return { server, weight: compiled.weight / targets.length }
      })
    })
    for (const [key, server] of entry.servers) {
      if (servers.has(key)) continue
      server.leaveTurn()
      this.#endChecks(entry.health, server)
    }
    entry.servers = servers
    entry.draining = draining
    service.isHostPassed = settings.isHostPassed
    service.queue.lengthMax = settings.queueMax
    service.queue.timeoutMs = settings.queueMs
    service.isAwaitingNames = settings.servers.some(({ host, weight }) => {
      return weight > 0 && this.#names.get(host)?.isPending === true
    })
    service.slowStartMs = settings.slowStartMs
    entry.shares = shares
    this.#check(entry)
    this.#offer(entry)
  }

  /** A server whose check is the same keeps its state. */
  #check(entry: Entry): void {
    const { health, settings, servers } = entry
    const check = settings.healthCheck
    for (const server of servers.values()) {
      const existing = health.get(server)
      if (existing !== undefined && isDeepStrictEqual(existing.check, check)) {
        existing.configure(server.settings)
        continue
      }
      this.#endChecks(health, server)
      if (check === undefined) continue
      const begun = new ServerHealth(server.settings, check, (reason) => {
        this.#count(begun, 1, -1)
        this.#tell(entry, server, reason)
        this.#offer(entry)
      })
      health.set(server, begun)
      this.#count(begun, 1, 0)
    }
  }

  #endChecks(health: Map<UpstreamServer, ServerHealth>, server: UpstreamServer): void {
    const ended = health.get(server)
    if (ended === undefined) return
    health.delete(server)
    ended.stop()
    this.#count(ended, -1, 0)
  }

  /** Moves the gauges of the state that it has, and of the other one. */
  #count({ isHealthy }: ServerHealth, same: number, other: number): void {
    this.#context.gauges.serversHealthy += isHealthy ? same : other
    this.#context.gauges.serversUnhealthy += isHealthy ? other : same
  }

  #tell({ settings }: Entry, { settings: { authority } }: UpstreamServer, reason: string): void {
    const fields = { service: settings.name, server: authority }
    this.#onNotice(
      reason === ''
        ? { level: 'info', text: 'a server is healthy', fields }
        : { level: 'warn', text: 'a server is not healthy', fields: { ...fields, reason } },
    )
  }

  /** Gives the service the servers that may be used now. */
  #offer({ service, settings, shares, health }: Entry): void {
    const isUsable = ({ server }: ServerShare) => health.get(server)?.isHealthy !== false
    const isOpen =
      settings.healthCheck?.isFailOpen === true &&
      !shares.some((share) => share.weight > 0 && isUsable(share))
    service.setServers(
      shares.map((share) => (isOpen || isUsable(share) ? share : { ...share, weight: 0 })),
    )
    service.admitWaiting()
  }

  /** Ends all checks. */
  stop(): void {
    for (const { health } of this.#entries.values()) {
      for (const server of [...health.keys()]) this.#endChecks(health, server)
    }
  }

  #targetsOf({ host }: CompiledServer): Target[] {
    const name: WatchedName | undefined = this.#names.get(host)
    if (name === undefined) return [{ host, alternative: '', name }]
    return name.addresses.map(({ address, alternative }) => ({ host: address, alternative, name }))
  }

  #server(entry: Entry, key: string, settings: ServerSettings): UpstreamServer {
    const existing = entry.servers.get(key)
    if (existing === undefined) {
      return new UpstreamServer(this.#context, entry.service.queue, settings)
    }
    existing.configure(settings)
    return existing
  }
}

/** Those of its servers that are no addresses. */
function namesOf({ servers }: CompiledService): string[] {
  return servers.map(({ host }) => host).filter((host) => isIP(host) === 0)
}

/** As it is configured. */
function urlOf({ host, port }: CompiledServer): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}

function serverSettings(
  settings: CompiledService,
  { port, authority }: CompiledServer,
  target: Target,
): ServerSettings {
  const { connectMs, firstByteMs, idleMs, proxyProtocol } = settings
  const { idleConnectionsMax, connectionsMax, connectionAgeMaxMs } = settings
  const timeouts = { connectMs, firstByteMs, idleMs }
  const bounds = { idleConnectionsMax, connectionsMax, connectionAgeMaxMs }
  return { ...target, port, authority, proxyProtocol, ...timeouts, ...bounds }
}

/** How many servers of the same address stand before this one: each is a server of its own. */
function occurrence({ servers }: CompiledService, index: number): number {
  const { host, port } = servers[index] ?? {}
  return servers.slice(0, index).filter((one) => one.host === host && one.port === port).length
}

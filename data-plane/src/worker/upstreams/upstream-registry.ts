/** All services and servers of a worker. What a new version keeps goes on with its connections and its turn. */
import type { CompiledService } from '../../configuration/services.ts'
import { type ServerSettings, type UpstreamContext, UpstreamServer } from './upstream-server.ts'
import { UpstreamService } from './upstream-service.ts'

export class UpstreamRegistry {
  readonly #context: UpstreamContext
  #services = new Map<string, UpstreamService>()
  #servers = new Map<string, UpstreamServer>()

  constructor(context: UpstreamContext) {
    this.#context = context
  }

  /** By service name. Exchanges that run keep the server that they have. */
  apply(compiled: ReadonlyMap<string, CompiledService>): ReadonlyMap<string, UpstreamService> {
    const services = new Map<string, UpstreamService>()
    const servers = new Map<string, UpstreamServer>()
    for (const [name, settings] of compiled) {
      const service = this.#services.get(name) ?? new UpstreamService()
      service.isHostPassed = settings.isHostPassed
      service.setServers(
        settings.servers.map((server, index) => {
          const { weight, ...address } = server
          const { connectMs, firstByteMs, idleMs, idleConnectionsMax, proxyProtocol } = settings
          // Connections that began otherwise cannot serve what a new version asks for.
          const key = `${name}\n${address.host}\n${address.port}\n${proxyProtocol}\n${occurrence(settings, index)}`
          const bounds = { connectMs, firstByteMs, idleMs, idleConnectionsMax, proxyProtocol }
          const upstream = this.#server(key, { ...address, ...bounds })
          servers.set(key, upstream)
          return { server: upstream, weight }
        }),
      )
      services.set(name, service)
    }
    for (const [key, server] of this.#servers) {
      if (!servers.has(key)) server.retire()
    }
    this.#services = services
    this.#servers = servers
    return services
  }

  #server(key: string, settings: ServerSettings): UpstreamServer {
    const existing = this.#servers.get(key)
    if (existing === undefined) return new UpstreamServer(this.#context, settings)
    existing.settings = settings
    return existing
  }
}

/** How many servers of the same address stand before this one: each is a server of its own. */
function occurrence({ servers }: CompiledService, index: number): number {
  const { host, port } = servers[index] ?? {}
  return servers.slice(0, index).filter((one) => one.host === host && one.port === port).length
}

/** The admin API as a listening server. */
import { Server as HttpsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { buildAdminApi } from './app.ts'
import { apiLimits } from './limits.ts'
import type { AdminApiOptions, TlsIdentity } from './parts.ts'

export class AdminServer {
  readonly #app: FastifyInstance

  private constructor(app: FastifyInstance) {
    this.#app = app
  }

  /** `tls`: certificate chain and key, PEM; undefined: plain HTTP. */
  static async create(options: AdminApiOptions, tls?: TlsIdentity): Promise<AdminServer> {
    return new AdminServer(await buildAdminApi(options, tls))
  }

  /** For connections from now on. */
  replaceIdentity({ cert, key }: TlsIdentity): void {
    const { server } = this.#app
    if (server instanceof HttpsServer) server.setSecureContext({ cert, key })
  }

  /** Resolves with the address that was bound. */
  async start(address: { readonly host: string; readonly port: number }): Promise<AddressInfo> {
    await this.#app.listen({ ...address, listenTextResolver: () => 'admin API listens' })
    // The cast holds: a server that listens on host and port has an address of that form.
    return this.#app.server.address() as AddressInfo
  }

  /** Lets open requests end, for a bounded time. */
  async stop(): Promise<void> {
    const cut = setTimeout(() => this.#app.server.closeAllConnections(), apiLimits.stopGraceMs)
    await this.#app.close()
    clearTimeout(cut)
  }
}

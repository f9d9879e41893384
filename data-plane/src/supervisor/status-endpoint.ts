/**
 * The node's own HTTP endpoint for operators and probes: /healthz, /readyz, /metrics, /status. It reads and
 * never changes anything.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { formatAddress, parseAddress } from './address.ts'
import { codeOf, reasonOf, StartFailure } from './errors.ts'
import { limits } from './limits.ts'

export interface StatusSource {
  /** Why no traffic is taken; undefined: the node is ready. */
  unreadyReason(): string | undefined
  status(): object
  metrics(): string
}

export class StatusEndpoint {
  readonly #server: Server
  readonly address: string

  private constructor(server: Server, address: string) {
    this.#server = server
    this.address = address
  }

  static async open(asked: string, source: StatusSource): Promise<StatusEndpoint> {
    const parsed = parseAddress(asked)
    if (parsed === undefined) throw new StartFailure(`--status: "${asked}" is not an address`)
    const server = createServer(
      { requestTimeout: limits.statusRequestTimeoutMs },
      (request, response) => answer(request, response, source),
    )
    server.maxConnections = limits.statusConnectionsMax
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    server.once('error', reject)
    // Without a host Node takes all addresses, IPv6 too where there is IPv6.
    server.listen(
      { port: parsed.port, ...(parsed.host === '' ? {} : { host: parsed.host }) },
      resolve,
    )
    try {
      await promise
    } catch (error) {
      throw new StartFailure(listenProblem(asked, error))
    }
    server.removeListener('error', reject)
    server.on('error', () => undefined)
    return new StatusEndpoint(server, boundAddress(server))
  }

  async close(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#server.close(() => resolve())
    this.#server.closeAllConnections()
    await promise
  }
}

function listenProblem(asked: string, error: unknown): string {
  if (codeOf(error) === 'EADDRINUSE') {
    return `the status address ${asked} is already in use; choose another with --status`
  }
  return `the status address ${asked} cannot be opened: ${reasonOf(error)}`
}

function boundAddress(server: Server): string {
  const bound = server.address()
  if (bound === null || typeof bound === 'string') return ''
  return formatAddress(bound.address, bound.port)
}

function answer(request: IncomingMessage, response: ServerResponse, source: StatusSource): void {
  request.resume()
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    response.setHeader('allow', 'GET, HEAD')
    send(response, 405, 'text/plain; charset=utf-8', 'only GET and HEAD are answered here\n')
    return
  }
  const path = request.url?.split('?', 1)[0]
  switch (path) {
    case '/healthz':
      send(response, 200, 'text/plain; charset=utf-8', 'alive\n')
      break
    case '/readyz': {
      const reason = source.unreadyReason()
      const text = reason === undefined ? 'ready\n' : `${reason}\n`
      send(response, reason === undefined ? 200 : 503, 'text/plain; charset=utf-8', text)
      break
    }
    case '/metrics':
      send(response, 200, 'text/plain; version=0.0.4; charset=utf-8', source.metrics())
      break
    case '/status': {
      const text = `${JSON.stringify(source.status(), undefined, 2)}\n`
      send(response, 200, 'application/json', text)
      break
    }
    default:
      send(response, 404, 'text/plain; charset=utf-8', 'not here\n')
  }
}

function send(response: ServerResponse, status: number, type: string, text: string): void {
  response.writeHead(status, {
    'content-type': type,
    'content-length': Buffer.byteLength(text),
    'cache-control': 'no-store',
  })
  response.end(text)
}

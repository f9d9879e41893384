/** A node for tests: a supervisor in this process with real workers, a fixture control plane and an origin. */
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, get, type Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import type { Settings } from '../settings.ts'
import { ControlPlaneFixture } from './control-link/control-plane.fixture.ts'
import { entryPoint, fullUpdate, router, service, settings } from './resources.fixture.ts'
import { Supervisor } from './supervisor.ts'

export interface NodeStatus {
  version: number
  controlPlane: string
  source: string | null
  workers: { pid: number; state: string }[]
  entryPoints: { name: string; address: string }[]
  problems: string[]
}

export class NodeFixture {
  readonly folder: string
  readonly controlPlane: ControlPlaneFixture
  readonly log: string[] = []
  readonly failures: unknown[] = []
  readonly #origin: Server
  readonly #running = new Set<Supervisor>()

  private constructor(folder: string, controlPlane: ControlPlaneFixture, origin: Server) {
    this.folder = folder
    this.controlPlane = controlPlane
    this.#origin = origin
  }

  static async make(): Promise<NodeFixture> {
    const folder = await mkdtemp(join(tmpdir(), 'sluice-node-'))
    const controlPlane = await ControlPlaneFixture.start()
    const origin = createServer((_request, response) => response.end('from the origin'))
    const { promise, resolve } = Promise.withResolvers<void>()
    origin.listen(0, '127.0.0.1', resolve)
    await promise
    return new NodeFixture(folder, controlPlane, origin)
  }

  get originUrl(): string {
    return `http://127.0.0.1:${portOf(this.#origin)}`
  }

  async start(
    changes: Partial<Settings> = {},
    hasToken = true,
    workerProgram?: string,
  ): Promise<Supervisor> {
    const supervisor = await Supervisor.start({
      settings: {
        controlPlane: this.controlPlane.address,
        ...(hasToken ? { joinToken: this.controlPlane.token } : {}),
        name: 'node-1',
        labels: {},
        dataDir: this.folder,
        status: '127.0.0.1:0',
        workers: 1,
        listen: {},
        limits: {},
        dnsServers: [],
        drainGraceSeconds: 2,
        logFormat: 'json',
        logLevel: 'info',
        ...changes,
      },
      logger: pino({ level: 'info' }, { write: (line: string) => void this.log.push(line) }),
      onFailure: (error) => this.failures.push(error),
      ...(workerProgram === undefined ? {} : { workerProgram }),
    })
    this.#running.add(supervisor)
    return supervisor
  }

  /** One entry point, one router, the origin. */
  version(number: bigint, address = '127.0.0.1:0') {
    return fullUpdate(number, this.resources(number, address))
  }

  /** The number makes each version's content another. */
  resources(number: bigint, address = '127.0.0.1:0') {
    return [
      entryPoint('web', address),
      router('all', 'origin'),
      router(`of-version-${number}`, 'origin', [`version-${number}.test`]),
      service('origin', this.originUrl),
      settings(10),
    ]
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#running].map((supervisor) => supervisor.stop()))
    this.controlPlane.down()
    this.#origin.closeAllConnections()
    this.#origin.close()
    await rm(this.folder, { recursive: true, force: true })
  }
}

export async function statusOf(supervisor: Supervisor): Promise<NodeStatus> {
  const response = await fetch(`http://${supervisor.statusAddress}/status`)
  return (await response.json()) as NodeStatus
}

export async function readiness(supervisor: Supervisor): Promise<string> {
  const response = await fetch(`http://${supervisor.statusAddress}/readyz`)
  return `${response.status} ${(await response.text()).trim()}`
}

export async function webAddress(supervisor: Supervisor): Promise<string> {
  return (await statusOf(supervisor)).entryPoints[0]?.address ?? ''
}

/** One request on a connection of its own. */
export function request(address: string): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  get(`http://${address}/`, { agent: false }, (response) => {
    let body = ''
    response.setEncoding('utf8')
    response.on('data', (part: string) => {
      body += part
    })
    response.on('end', () => resolve(`${response.statusCode} ${body}`))
    response.on('error', reject)
  }).on('error', reject)
  return promise
}

export function portOf(server: Server): number {
  const bound = server.address()
  if (bound === null || typeof bound === 'string') throw new Error('the server does not listen')
  return bound.port
}

/** A control plane as a process of its own, on ports and a data directory that outlive its restarts. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ApiClient } from './api-client.ts'
import { freePorts } from './ports.ts'
import { CONTROL_PLANE } from './programs.ts'
import type { Scope } from './scope.ts'
import type { SystemProcess } from './system-process.ts'

export class ControlPlane {
  readonly dataDirectory: string
  readonly adminPort: number
  readonly fleetPort: number
  readonly #scope: Scope
  readonly #environment: Readonly<Record<string, string>>
  #process: SystemProcess
  #api: ApiClient | undefined

  private constructor(scope: Scope, place: Place) {
    this.dataDirectory = place.dataDirectory
    this.adminPort = place.adminPort
    this.fleetPort = place.fleetPort
    this.#environment = place.environment
    this.#scope = scope
    this.#process = this.#spawn()
  }

  /** `place`: where its data directory is made. */
  static async start(
    scope: Scope,
    place?: string,
    environment: Readonly<Record<string, string>> = {},
  ): Promise<ControlPlane> {
    const dataDirectory = join(place ?? (await scope.temporaryDirectory()), 'control-plane')
    const [adminPort = 0, fleetPort = 0] = await freePorts(2)
    const started = new ControlPlane(scope, { dataDirectory, adminPort, fleetPort, environment })
    await started.#opened()
    return started
  }

  get process(): SystemProcess {
    return this.#process
  }

  get api(): ApiClient {
    if (this.#api === undefined) throw new Error('the control plane has not been ready yet')
    return this.#api
  }

  get adminUrl(): string {
    return `http://127.0.0.1:${this.adminPort}`
  }

  get fleetAddress(): string {
    return `127.0.0.1:${this.fleetPort}`
  }

  /** The certificate of the internal CA. */
  caPem(): Promise<string> {
    return readFile(join(this.dataDirectory, 'ca.pem'), 'utf8')
  }

  /** No goodbye: what was not on disk is gone. */
  async kill(): Promise<void> {
    this.#process.signal('SIGKILL')
    await this.#process.waitForExit()
  }

  async stop(): Promise<void> {
    this.#process.signal('SIGTERM')
    await this.#process.waitForExit()
  }

  /** The same data, the same ports. */
  async startAgain(): Promise<void> {
    this.#process = this.#spawn()
    await this.#opened()
  }

  async createJoinToken(body: Readonly<Record<string, unknown>> = {}): Promise<string> {
    const { token } = await this.api.post<{ token: string }>('/api/v1/join-tokens', body)
    return token
  }

  #spawn(): SystemProcess {
    return this.#scope.start({
      name: 'control plane',
      command: process.execPath,
      environment: this.#environment,
      arguments: [
        CONTROL_PLANE,
        ...['--data-dir', this.dataDirectory],
        ...['--admin', `127.0.0.1:${this.adminPort}`],
        ...['--fleet', this.fleetAddress],
      ],
    })
  }

  async #opened(): Promise<void> {
    await this.#process.waitForReady()
    if (this.#api !== undefined) return
    const token = await readFile(join(this.dataDirectory, 'admin-token'), 'utf8')
    const api = new ApiClient(this.adminUrl, token.trim())
    this.#scope.defer(() => api.close())
    this.#api = api
  }
}

interface Place {
  readonly dataDirectory: string
  readonly adminPort: number
  readonly fleetPort: number
  readonly environment: Readonly<Record<string, string>>
}

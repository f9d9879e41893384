/** A node as a process of its own: supervisor and workers, on ports and a data directory of its own. */
import { join } from 'node:path'
import { request } from 'undici'
import { eventually } from './eventually.ts'
import { freePort } from './ports.ts'
import { NODE } from './programs.ts'
import type { Scope } from './scope.ts'
import type { SystemProcess } from './system-process.ts'

export interface NodeOptions {
  readonly controlPlane: string
  /** Left out: the data directory must hold an identity. */
  readonly joinToken?: string
  /** The file of a bundle, in place of a join token. */
  readonly bundle?: string
  readonly bundlePassphraseFile?: string
  readonly name?: string
  readonly workers?: number
  /** Entry points of the node, by name, and the port that each gets on this node. */
  readonly ports?: Readonly<Record<string, number>>
  readonly dataDirectory?: string
  readonly drainGraceSeconds?: number
  readonly environment?: Readonly<Record<string, string>>
}

export interface NodeStatus {
  readonly name: string
  readonly nodeId: string
  readonly bootId: string
  readonly version: number | string | null
  readonly hash: string
  readonly controlPlane: 'connected' | 'disconnected'
  readonly source: 'control-plane' | 'disk'
  readonly workers: readonly { readonly pid: number; readonly state: string }[]
  readonly entryPoints: readonly { readonly name: string; readonly address: string }[]
  readonly problems: readonly unknown[]
}

export class DataPlaneNode {
  readonly name: string
  readonly dataDirectory: string
  readonly ports: Readonly<Record<string, number>>
  readonly statusPort: number
  readonly #scope: Scope
  readonly #options: NodeOptions
  #process: SystemProcess

  private constructor(scope: Scope, options: Required<Named> & NodeOptions, statusPort: number) {
    this.name = options.name
    this.dataDirectory = options.dataDirectory
    this.ports = options.ports ?? {}
    this.statusPort = statusPort
    this.#scope = scope
    this.#options = options
    this.#process = this.#spawn()
  }

  /** Starts the process; `untilReady` waits until it serves. */
  static async start(scope: Scope, options: NodeOptions): Promise<DataPlaneNode> {
    const dataDirectory = options.dataDirectory ?? join(await scope.temporaryDirectory(), 'node')
    const named = { ...options, name: options.name ?? 'n1', dataDirectory }
    return new DataPlaneNode(scope, named, await freePort())
  }

  get process(): SystemProcess {
    return this.#process
  }

  /** The port of an entry point. */
  port(entryPoint = 'web'): number {
    const port = this.ports[entryPoint]
    if (port === undefined) throw new Error(`node ${this.name} has no entry point ${entryPoint}`)
    return port
  }

  async untilReady(withinMs = 15_000): Promise<this> {
    await this.#process.waitForReady(withinMs)
    await eventually(async () => (await this.probe('/readyz')).status === 200, {
      withinMs,
      that: `readiness of node ${this.name}`,
    })
    return this
  }

  async status(): Promise<NodeStatus> {
    // The status page is ours to read as documented; each test asserts the fields it depends on.
    return JSON.parse((await this.probe('/status')).text) as NodeStatus
  }

  async probe(path: string): Promise<{ status: number; text: string }> {
    const answer = await request(`http://127.0.0.1:${this.statusPort}${path}`, {
      headers: { connection: 'close' },
      headersTimeout: 5_000,
    })
    return { status: answer.statusCode, text: await answer.body.text() }
  }

  async workerPids(): Promise<readonly number[]> {
    return (await this.status()).workers.map((worker) => worker.pid)
  }

  async stop(): Promise<void> {
    this.#process.signal('SIGTERM')
    await this.#process.waitForExit(15_000)
  }

  /** The same data, the same ports; without a new join token with the one it had, which is used up. */
  startAgain(joinToken = this.#options.joinToken): void {
    this.#process = this.#spawn(joinToken)
  }

  #spawn(joinToken = this.#options.joinToken): SystemProcess {
    const { controlPlane, workers = 1, drainGraceSeconds, environment = {} } = this.#options
    const { bundle, bundlePassphraseFile } = this.#options
    const listen = Object.entries(this.ports).flatMap(([name, port]) => [
      '--listen',
      `${name}=127.0.0.1:${port}`,
    ])
    const once = joinToken === undefined ? [] : ['--join-token', joinToken]
    const bundled = [
      ...(bundle === undefined ? [] : ['--bundle', bundle]),
      ...(bundlePassphraseFile === undefined
        ? []
        : ['--bundle-passphrase-file', bundlePassphraseFile]),
    ]
    const grace =
      drainGraceSeconds === undefined ? [] : ['--drain-grace', String(drainGraceSeconds)]
    return this.#scope.start({
      name: `node ${this.name}`,
      command: process.execPath,
      environment,
      arguments: [
        NODE,
        'run',
        ...['--control-plane', controlPlane],
        ...['--name', this.name],
        ...['--data-dir', this.dataDirectory],
        ...['--status', `127.0.0.1:${this.statusPort}`],
        ...['--workers', String(workers)],
        ...once,
        ...bundled,
        ...grace,
        ...listen,
      ],
    })
  }
}

interface Named {
  readonly name?: string
  readonly dataDirectory?: string
}

/**
 * Composition root of the supervisor: makes the parts, ties them together, starts and stops them in order.
 * main.ts starts it and ends the process. Nothing of a request passes through here.
 */
import { randomUUID } from 'node:crypto'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Load, ResourceKind } from '@sluice/proto'
import type { Logger } from 'pino'
import { CHANGES_VARIABLE } from '../limits.ts'
import type { Settings } from '../settings.ts'
import { EntryPointSockets } from './entry-point-sockets.ts'
import { assertRuntimeCanListen } from './listening-sockets.ts'
import { LogRaise } from './log-raise.ts'
import { metricsText } from './metrics.ts'
import { Reporting } from './reporting.ts'
import { StatusEndpoint } from './status-endpoint.ts'
import { VersionCheck } from './version-check.ts'
import type { VersionSource } from './version-source.ts'
import { problemText, type VersionOutcome, VersionSwitch } from './version-switch.ts'
import { WorkerPool } from './worker-pool.ts'

export interface SupervisorOptions {
  readonly settings: Settings
  readonly logger: Logger
  /** The node cannot go on: its join was refused for good. */
  readonly onFailure: (error: unknown) => void
  /** The program of a worker; the one beside this file unless a test needs another. */
  readonly workerProgram?: string
}

/** What a supervisor is made around. */
interface Foundation {
  readonly bootId: string
  readonly source: VersionSource
  readonly stopping: AbortController
}

export class Supervisor {
  readonly #settings: Settings
  readonly #logger: Logger
  readonly #bootId: string
  readonly #source: VersionSource
  readonly #sockets: EntryPointSockets
  readonly #pool: WorkerPool
  readonly #reporting: Reporting
  readonly #versions: VersionSwitch
  readonly #stopping: AbortController
  readonly #logRaise = new LogRaise((linesPerSecond) => this.#pool.raiseLogs(linesPerSecond))
  #status: StatusEndpoint | undefined
  #workersEnded = 0
  #wasReady = false

  private constructor(options: SupervisorOptions, { bootId, source, stopping }: Foundation) {
    const { settings, logger } = options
    this.#settings = settings
    this.#logger = logger
    this.#bootId = bootId
    this.#source = source
    this.#stopping = stopping
    this.#sockets = new EntryPointSockets(settings.listen)
    this.#reporting = new Reporting({
      outlet: source.outlet,
      reporting: () => this.#pool.reporting(),
      linesPerSecond: () =>
        Math.max(this.#versions.running?.logsPerSecondPerNode ?? 0, this.#logRaise.linesPerSecond),
    })
    this.#pool = new WorkerPool({
      program: options.workerProgram ?? workerProgram(),
      count: settings.workers,
      environment: workerEnvironment(settings),
      logger,
      onReport: (worker, report) => this.#reporting.take(worker, report),
      onEnded: (worker) => {
        this.#workersEnded += 1
        this.#reporting.counters.workerEnded(worker)
      },
    })
    const check = new VersionCheck()
    this.#versions = new VersionSwitch({
      pool: this.#pool,
      keeper: source.keeper,
      sockets: this.#sockets,
      check: (version) => check.check(version),
      logger,
      onOutcome: (outcome) => this.#tell(outcome),
    })
  }

  /** Throws StartFailure with a line for the operator when the node cannot run at all. */
  static async start(options: SupervisorOptions): Promise<Supervisor> {
    assertRuntimeCanListen()
    const bootId = randomUUID()
    const stopping = new AbortController()
    const source = await openSource(options, bootId, stopping.signal)
    const supervisor = new Supervisor(options, { bootId, source, stopping })
    await supervisor.#start()
    return supervisor
  }

  /** Where the status endpoint is. */
  get statusAddress(): string {
    return this.#status?.address ?? ''
  }

  /** Replaces all workers one by one, without a refused connection. */
  async replaceWorkers(): Promise<void> {
    const failure = await this.#pool.replaceAll(this.#graceMs)
    if (failure === undefined) this.#logger.info('all workers were replaced')
    else this.#logger.error({ reason: failure }, 'the replacement of the workers stopped')
  }

  /** Reads the configuration file again, where there is one. */
  async reload(): Promise<void> {
    if (!this.#stopping.signal.aborted) await this.#source.reload()
  }

  /** Drains the workers, sends what they reported last, and leaves the control plane. */
  async stop(): Promise<void> {
    if (this.#stopping.signal.aborted) return
    this.#stopping.abort()
    this.#logger.info('draining')
    this.#versions.stop()
    this.#logRaise.stop()
    const drained = this.#pool.drain(this.#graceMs)
    // Nobody accepts any more: a new connection is refused instead of waiting in a queue.
    this.#sockets.close()
    await drained
    await this.#reporting.finish()
    await this.#source.stop()
    await this.#status?.close()
    this.#logger.info('stopped')
  }

  /** Ends the workers at once, for an end without grace. */
  kill(): void {
    this.#pool.kill()
  }

  get #graceMs(): number {
    return this.#settings.drainGraceSeconds * 1_000
  }

  async #start(): Promise<void> {
    this.#status = await StatusEndpoint.open(this.#settings.status, {
      unreadyReason: () => this.#unreadyReason(),
      status: () => this.#statusReport(),
      metrics: () => this.#metrics(),
    })
    this.#pool.start()
    this.#reporting.start()
    await this.#source.start(this.#versions, {
      load: () => this.#load(),
      raiseLogs: (linesPerSecond, forMs) => this.#logRaise.set(linesPerSecond, forMs),
    })
  }

  #tell(outcome: VersionOutcome): void {
    this.#source.tell(outcome)
    if (this.#wasReady || outcome.kind === 'rejected') return
    this.#wasReady = true
    this.#logger.info({ version: outcome.version, statusAddress: this.statusAddress }, 'ready')
  }

  #load(): Load {
    const { connectionsOpen, exchangesOpen } = this.#reporting.counters.gauges()
    const draining = this.#reporting.counters.draining().map(({ kind, name, ...rest }) => ({
      object: { kind: kind === 'router' ? ResourceKind.ROUTER : ResourceKind.SERVICE, name },
      ...rest,
    }))
    return { connectionsOpen, exchangesOpen, draining }
  }

  #unreadyReason(): string | undefined {
    if (this.#stopping.signal.aborted) return 'the node drains'
    if (this.#versions.isDraining) return 'an operator drains the node'
    if (this.#versions.running === undefined) {
      const [first] = this.#versions.problems
      return first === undefined ? 'no version yet' : `no version serves: ${problemText(first)}`
    }
    return this.#pool.isReady ? undefined : 'not all workers accept connections'
  }

  #statusReport(): object {
    const { running, problems } = this.#versions
    return {
      name: this.#settings.name,
      nodeId: this.#source.nodeId,
      bootId: this.#bootId,
      version: Number(running?.version ?? 0n),
      hash: running?.hash ?? '',
      appliedAtMs: running?.appliedAtMs ?? 0,
      controlPlane: this.#source.controlPlane,
      source: running?.source ?? null,
      workers: this.#pool.workers(),
      entryPoints: this.#sockets.addresses(),
      unhealthyServers: this.#reporting.counters.unhealthy(),
      problems: [
        ...problems.map(problemText),
        ...this.#source.problems,
        ...this.#source.diskProblems,
      ],
    }
  }

  #metrics(): string {
    const { counters, requestsNotKept } = this.#reporting
    return metricsText({
      counters,
      version: this.#versions.running?.version ?? 0n,
      isReady: this.#unreadyReason() === undefined,
      isConnected: this.#source.controlPlane === 'connected',
      isDiskFailing: this.#source.diskProblems.length > 0,
      workers: this.#pool.workers().length,
      workersEnded: this.#workersEnded,
      ...this.#source.outlet.figures(),
      logRequestsNotKept: requestsNotKept,
    })
  }
}

async function openSource(
  { settings, logger, onFailure }: SupervisorOptions,
  bootId: string,
  stopped: AbortSignal,
): Promise<VersionSource> {
  // Either is loaded only where it is needed: gRPC and YAML take some MiB of memory.
  if (settings.config !== undefined) {
    const { FileSource } = await import('./file-source.ts')
    return FileSource.open(settings.config, logger)
  }
  const { ControlPlaneSource } = await import('./control-plane-source.ts')
  return ControlPlaneSource.open({ settings, bootId, logger, stopped, onFailure })
}

/** In dist a worker is a .js file, in development a .ts file: it is whatever this file is. */
function workerProgram(): string {
  return fileURLToPath(new URL(`../worker/main${extname(import.meta.filename)}`, import.meta.url))
}

/** Workers log like the supervisor, have the limits that it has checked, and no use for the token. */
function workerEnvironment(settings: Settings): NodeJS.ProcessEnv {
  const { SLUICE_JOIN_TOKEN: _, ...rest } = process.env
  return {
    // One heap of malloc for a worker, whose other threads ask little of it: what TLS allocates for a moment leaves
    // fewer holes (bench/FINDINGS.md). Read by glibc alone.
    MALLOC_ARENA_MAX: '1',
    ...rest,
    SLUICE_LOG_FORMAT: settings.logFormat,
    SLUICE_LOG_LEVEL: settings.logLevel,
    SLUICE_DNS_SERVER: settings.dnsServers.join(),
    [CHANGES_VARIABLE]: JSON.stringify(settings.limits),
  }
}

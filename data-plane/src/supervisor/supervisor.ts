/**
 * Composition root of the supervisor: makes the parts, ties them together, starts and stops them in order.
 * main.ts starts it and ends the process. Nothing of a request passes through here.
 */
import { randomUUID } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { CounterBatch, LogBatch, Update } from '@sluice/proto'
import type { Logger } from 'pino'
import { compile } from '../configuration/compile.ts'
import { type Settings, softwareVersion } from '../settings.ts'
import { parseAddress } from './address.ts'
import { ControlLink } from './control-link/control-link.ts'
import { enrol } from './control-link/enrolment.ts'
import { type Identity, IdentityFile } from './control-link/identity.ts'
import { parseJoinToken } from './control-link/join-token.ts'
import { EntryPointSockets } from './entry-point-sockets.ts'
import { StartFailure } from './errors.ts'
import { limits } from './limits.ts'
import { assertRuntimeCanListen } from './listening-sockets.ts'
import { metricsText } from './metrics.ts'
import { Reporting } from './reporting.ts'
import { StatusEndpoint } from './status-endpoint.ts'
import { readUpdate } from './update-reader.ts'
import { VersionStore } from './version-store.ts'
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

export class Supervisor {
  readonly #settings: Settings
  readonly #logger: Logger
  readonly #onFailure: (error: unknown) => void
  readonly #bootId = randomUUID()
  readonly #identityFile: IdentityFile
  readonly #sockets: EntryPointSockets
  readonly #pool: WorkerPool
  readonly #reporting: Reporting
  readonly #versions: VersionSwitch
  readonly #stopping = new AbortController()
  #link: ControlLink | undefined
  #status: StatusEndpoint | undefined
  #workersEnded = 0
  #wasReady = false

  private constructor(options: SupervisorOptions, store: VersionStore) {
    const { settings, logger } = options
    this.#settings = settings
    this.#logger = logger
    this.#onFailure = options.onFailure
    this.#identityFile = new IdentityFile(settings.dataDir)
    this.#sockets = new EntryPointSockets(settings.listen)
    this.#reporting = new Reporting({
      bootId: this.#bootId,
      dataFolder: settings.dataDir,
      logger,
      sender: this.#sender(),
      reporting: () => this.#pool.reporting(),
      linesPerSecond: () => this.#versions.running?.logsPerSecondPerNode ?? 0,
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
    this.#versions = new VersionSwitch({
      pool: this.#pool,
      store,
      sockets: this.#sockets,
      check: compile,
      logger,
      onOutcome: (outcome) => this.#tell(outcome),
    })
  }

  /** Throws StartFailure with a line for the operator when the node cannot run at all. */
  static async start(options: SupervisorOptions): Promise<Supervisor> {
    assertRuntimeCanListen()
    const { settings, logger } = options
    await mkdir(settings.dataDir, { recursive: true, mode: 0o700 })
    const identity = await new IdentityFile(settings.dataDir).load()
    if (identity === undefined && settings.joinToken === undefined) {
      throw new StartFailure(
        `there is no identity in ${settings.dataDir}; join with --join-token or --join-token-file`,
      )
    }
    if (identity === undefined && parseJoinToken(settings.joinToken ?? '') === undefined) {
      throw new StartFailure('the join token does not have the form of a Sluice join token')
    }
    const store = await VersionStore.open(settings.dataDir, logger)
    const supervisor = new Supervisor(options, store)
    await supervisor.#start(store, identity)
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

  /** Drains the workers, sends what they reported last, and leaves the control plane. */
  async stop(): Promise<void> {
    if (this.#stopping.signal.aborted) return
    this.#stopping.abort()
    this.#logger.info('draining')
    this.#versions.stop()
    const drained = this.#pool.drain(this.#graceMs)
    // Nobody accepts any more: a new connection is refused instead of waiting in a queue.
    this.#sockets.close()
    await drained
    await this.#reporting.finish()
    await this.#link?.stop()
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

  async #start(store: VersionStore, identity: Identity | undefined): Promise<void> {
    this.#status = await StatusEndpoint.open(this.#settings.status, {
      unreadyReason: () => this.#unreadyReason(),
      status: () => this.#statusReport(),
      metrics: () => this.#metrics(),
    })
    this.#pool.start()
    this.#reporting.start()
    const stored = await store.load()
    if (!this.#versions.offerStored(stored)) {
      this.#logger.info('no stored version: not ready until the control plane sends one')
    }
    this.#connect(identity).catch((error: unknown) => this.#onFailure(error))
  }

  async #connect(known: Identity | undefined): Promise<void> {
    const identity = known ?? (await this.#join())
    const address = parseAddress(this.#settings.controlPlane)
    if (identity === undefined || address === undefined || this.#stopping.signal.aborted) return
    this.#link = new ControlLink({
      address,
      identity,
      identityFile: this.#identityFile,
      bootId: this.#bootId,
      softwareVersion: softwareVersion(),
      workers: this.#settings.workers,
      logger: this.#logger,
      running: () => this.#versions.running,
      onUpdate: (update) => this.#takeUpdate(update),
      onTelemetryOpen: () => this.#reporting.connected(),
      onTelemetryClosed: (refusal) => this.#reporting.disconnected(refusal),
      onCountersStored: (bootId, sequence) => this.#reporting.telemetry.stored(bootId, sequence),
      onLogsStored: (bootId, sequence) => this.#reporting.logs.stored(bootId, sequence),
    })
    this.#link.start()
  }

  async #join(): Promise<Identity | undefined> {
    const { controlPlane, joinToken, name, labels } = this.#settings
    const address = parseAddress(controlPlane)
    if (address === undefined || joinToken === undefined) return undefined
    const identity = await enrol({
      address,
      token: joinToken,
      name,
      labels,
      logger: this.#logger,
      stopped: this.#stopping.signal,
    })
    if (identity === undefined) return undefined
    await this.#identityFile.save(identity)
    this.#logger.info({ nodeId: identity.nodeId, name }, 'joined')
    return identity
  }

  #takeUpdate(update: Update): void {
    const reading = readUpdate(update, this.#versions.running)
    switch (reading.kind) {
      case 'candidate':
        this.#versions.offer(reading.candidate)
        break
      case 'full-needed':
        this.#link?.send({ $case: 'full', value: {} })
        break
      case 'refused':
        this.#versions.refuse(update.version, update.hash, reading.problem)
        break
    }
  }

  #tell(outcome: VersionOutcome): void {
    const { version, hash } = outcome
    // What came from the disk is said in the next hello: the control plane did not ask for it.
    const link = outcome.source === 'control-plane' ? this.#link : undefined
    if (outcome.kind === 'rejected') {
      const problems = outcome.problems.slice(0, limits.problemsReportedMax)
      link?.send({ $case: 'rejected', value: { version, hash, problems } })
      return
    }
    link?.send({ $case: 'applied', value: { version, hash, tookMs: outcome.tookMs } })
    if (this.#wasReady) return
    this.#wasReady = true
    this.#logger.info({ version, statusAddress: this.statusAddress }, 'ready')
  }

  #sender() {
    const link = () => this.#link
    return {
      get isOpen(): boolean {
        return link()?.isOpen ?? false
      },
      sendCounters: (batch: CounterBatch) => link()?.sendCounters(batch),
      sendLogs: (batch: LogBatch) => link()?.sendLogs(batch),
    }
  }

  #unreadyReason(): string | undefined {
    if (this.#stopping.signal.aborted) return 'the node drains'
    if (this.#versions.running === undefined) {
      const [first] = this.#versions.problems
      return first === undefined ? 'no version yet' : `no version serves: ${problemText(first)}`
    }
    return this.#pool.isReady ? undefined : 'not all workers accept connections'
  }

  #statusReport(): object {
    const { running, problems } = this.#versions
    const linkProblem = this.#link?.problem
    return {
      name: this.#settings.name,
      nodeId: this.#link?.nodeId ?? '',
      bootId: this.#bootId,
      version: Number(running?.version ?? 0n),
      hash: running?.hash ?? '',
      appliedAtMs: running?.appliedAtMs ?? 0,
      controlPlane: this.#link?.isConnected === true ? 'connected' : 'disconnected',
      source: running?.source ?? null,
      workers: this.#pool.workers(),
      entryPoints: this.#sockets.addresses(),
      problems: [...problems.map(problemText), ...(linkProblem === undefined ? [] : [linkProblem])],
    }
  }

  #metrics(): string {
    const { counters, telemetry, logs, requestsNotKept } = this.#reporting
    return metricsText({
      counters,
      version: this.#versions.running?.version ?? 0n,
      isReady: this.#unreadyReason() === undefined,
      isConnected: this.#link?.isConnected ?? false,
      workers: this.#pool.workers().length,
      workersEnded: this.#workersEnded,
      telemetryRowsWaiting: telemetry.rowsWaiting,
      telemetryRowsCoarsened: telemetry.rowsCoarsened,
      telemetryRequestsRefused: telemetry.requestsRefused,
      logLinesSent: logs.delivered,
      logLinesWaiting: logs.waiting,
      logLinesDropped: logs.dropped,
      logRequestsNotKept: requestsNotKept,
    })
  }
}

/** In dist a worker is a .js file, in development a .ts file: it is whatever this file is. */
function workerProgram(): string {
  return fileURLToPath(new URL(`../worker/main${extname(import.meta.filename)}`, import.meta.url))
}

/** Workers log like the supervisor, and have no use for the token. */
function workerEnvironment({ logFormat, logLevel, dnsServers }: Settings): NodeJS.ProcessEnv {
  const { SLUICE_JOIN_TOKEN: _, ...rest } = process.env
  const own = { SLUICE_LOG_FORMAT: logFormat, SLUICE_LOG_LEVEL: logLevel }
  return { ...rest, ...own, SLUICE_DNS_SERVER: dnsServers.join() }
}

/**
 * A node of a fleet: joins its control plane, takes its versions, delivers what was counted. Loaded only where
 * there is a control plane, since gRPC takes some MiB of memory.
 */
import { mkdir } from 'node:fs/promises'
import type { CounterBatch, Load, LogBatch, Update } from '@sluice/proto'
import type { Logger } from 'pino'
import { type Settings, softwareVersion } from '../settings.ts'
import { type Address, parseAddress } from './address.ts'
import { type Bundle, readBundle } from './bundle.ts'
import { ControlLink } from './control-link/control-link.ts'
import { enrol } from './control-link/enrolment.ts'
import { type Identity, IdentityFile } from './control-link/identity.ts'
import { parseJoinToken } from './control-link/join-token.ts'
import { sleep } from './control-link/sleep.ts'
import { Delivery } from './delivery.ts'
import { reasonOf, StartFailure } from './errors.ts'
import { limits } from './limits.ts'
import { readUpdate } from './update-reader.ts'
import { VersionKeeper } from './version-keeper.ts'
import type { NodeSeam, VersionSource } from './version-source.ts'
import { VersionStore } from './version-store.ts'
import type { VersionOutcome, VersionSwitch } from './version-switch.ts'

export interface ControlPlaneSourceOptions {
  readonly settings: Settings
  readonly bootId: string
  readonly logger: Logger
  /** Ends the attempts to join. */
  readonly stopped: AbortSignal
  /** The join was refused for good. */
  readonly onFailure: (error: unknown) => void
}

interface Found {
  readonly address: Address
  readonly store: VersionStore
  readonly identityFile: IdentityFile
  /** Undefined: the node has to join. */
  readonly identity: Identity | undefined
  /** Undefined: there is none, or the node has joined. */
  readonly bundle: Bundle | undefined
}

export class ControlPlaneSource implements VersionSource {
  readonly keeper: VersionKeeper
  readonly outlet: Delivery
  readonly #options: ControlPlaneSourceOptions
  readonly #store: VersionStore
  readonly #address: Address
  readonly #identityFile: IdentityFile
  readonly #identity: Identity | undefined
  readonly #bundle: Bundle | undefined
  #link: ControlLink | undefined
  #loadTimer: NodeJS.Timeout | undefined
  /** As it was told last on this connection; empty: nothing. */
  #toldLoad = ''
  #versions: VersionSwitch | undefined

  private constructor(options: ControlPlaneSourceOptions, found: Found) {
    this.#options = options
    this.#store = found.store
    this.keeper = new VersionKeeper(found.store, options.logger)
    this.#address = found.address
    this.#identityFile = found.identityFile
    this.#identity = found.identity
    this.#bundle = found.bundle
    const { bootId, logger, settings } = options
    const dataFolder = settings.dataDir
    this.outlet = new Delivery({ bootId, dataFolder, logger, sender: this.#sender() })
  }

  /** Throws StartFailure with a line for the operator when the node can never join. */
  static async open(options: ControlPlaneSourceOptions): Promise<ControlPlaneSource> {
    const { controlPlane = '', dataDir, bundle: bundleFile } = options.settings
    const address = parseAddress(controlPlane)
    if (address === undefined) {
      throw new StartFailure(`--control-plane: "${controlPlane}" is not HOST:PORT`)
    }
    await mkdir(dataDir, { recursive: true, mode: 0o700 })
    const identityFile = new IdentityFile(dataDir)
    const identity = await identityFile.load()
    const bundle =
      identity === undefined && bundleFile !== undefined
        ? await readBundle(bundleFile, options.settings.bundlePassphraseFile)
        : undefined
    const joinToken = bundle?.joinToken ?? options.settings.joinToken
    if (identity === undefined && joinToken === undefined) {
      throw new StartFailure(
        `there is no identity in ${dataDir}; join with --join-token, --join-token-file or --bundle`,
      )
    }
    if (identity === undefined && parseJoinToken(joinToken ?? '') === undefined) {
      throw new StartFailure('the join token does not have the form of a Sluice join token')
    }
    const store = await VersionStore.open(dataDir, options.logger)
    return new ControlPlaneSource(options, { address, store, identityFile, identity, bundle })
  }

  get nodeId(): string {
    return this.#link?.nodeId ?? ''
  }

  get controlPlane(): 'connected' | 'disconnected' {
    return this.#link?.isConnected === true ? 'connected' : 'disconnected'
  }

  get problems(): readonly string[] {
    const problem = this.#link?.problem
    return problem === undefined ? [] : [problem]
  }

  get diskProblems(): readonly string[] {
    return [this.keeper.problem, this.outlet.telemetry.diskProblem].filter(
      (problem) => problem !== undefined,
    )
  }

  async start(versions: VersionSwitch, node: NodeSeam): Promise<void> {
    this.#versions = versions
    this.#loadTimer = setInterval(() => this.#tellLoad(node.load()), limits.tickMs)
    const stored = await this.#store.load()
    // A node that starts again before it could join goes on with what it stored of the bundle.
    const bundled =
      stored.length === 0 && this.#bundle !== undefined ? [this.#bundle.version] : stored
    if (!versions.offerStored(bundled)) {
      this.#options.logger.info('no stored version: not ready until the control plane sends one')
    }
    this.#connect(versions, node).catch((error: unknown) => this.#options.onFailure(error))
  }

  /** The control plane sends each version by itself. */
  async reload(): Promise<void> {
    this.#options.logger.info(
      'there is nothing to read again: versions come from the control plane',
    )
  }

  tell(outcome: VersionOutcome): void {
    const { version, hash } = outcome
    // What came from the disk is said in the next hello: the control plane did not ask for it.
    if (outcome.source !== 'control-plane') return
    if (outcome.kind === 'applied') {
      this.#link?.send({ $case: 'applied', value: { version, hash, tookMs: outcome.tookMs } })
      return
    }
    const problems = outcome.problems.slice(0, limits.problemsReportedMax)
    this.#link?.send({ $case: 'rejected', value: { version, hash, problems } })
  }

  async stop(): Promise<void> {
    clearInterval(this.#loadTimer)
    await this.#link?.stop()
  }

  async #connect(versions: VersionSwitch, node: NodeSeam): Promise<void> {
    const { bootId, logger, settings, stopped } = this.#options
    await this.#storedVersionTried(versions)
    const identity = this.#identity ?? (await this.#join(this.#bundle))
    if (identity === undefined || stopped.aborted) return
    const { outlet } = this
    this.#link = new ControlLink({
      address: this.#address,
      identity,
      identityFile: this.#identityFile,
      bootId,
      softwareVersion: softwareVersion(),
      workers: settings.workers,
      logger,
      running: () => versions.running,
      joinAgain: () => this.#joinAgain(),
      onUpdate: (update) => this.#takeUpdate(update),
      onStanding: ({ draining }) => {
        this.#toldLoad = ''
        versions.setDraining(draining)
      },
      onLogRaise: ({ perSecond, forMs }) => node.raiseLogs(perSecond, forMs),
      onTelemetryOpen: () => outlet.connected(),
      onTelemetryClosed: (refusal) => outlet.disconnected(refusal),
      onCountersStored: (from, sequence) => outlet.telemetry.stored(from, sequence),
      onLogsStored: (from, sequence) => outlet.logs.stored(from, sequence),
    })
    this.#link.start()
  }

  /** A node that says too early that it runs nothing would be sent whatever there is in place of what it has. */
  async #storedVersionTried(versions: VersionSwitch): Promise<void> {
    const tried = new AbortController()
    void versions.idle.finally(() => tried.abort())
    const over = AbortSignal.any([tried.signal, this.#options.stopped])
    await sleep(limits.storedVersionFirstMs, over)
  }

  /** After each change, while there is something to tell, and once more when there no longer is. */
  #tellLoad(load: Load): void {
    if (this.#link?.isConnected !== true) return
    const isOfInterest = this.#versions?.isDraining === true || load.draining.length > 0
    const text = isOfInterest ? JSON.stringify(load) : ''
    if (text === this.#toldLoad) return
    this.#toldLoad = text
    this.#link.send({ $case: 'load', value: load })
  }

  /** The bundle is read only now, since one that was used may be gone. */
  async #joinAgain(): Promise<Identity | undefined> {
    const { bundle, bundlePassphraseFile } = this.#options.settings
    try {
      return await this.#join(
        bundle === undefined ? undefined : await readBundle(bundle, bundlePassphraseFile),
      )
    } catch (error) {
      const reason = reasonOf(error)
      this.#options.logger.error({ reason }, 'this node could not join again, and serves on')
      return undefined
    }
  }

  async #join(bundle: Bundle | undefined): Promise<Identity | undefined> {
    const { logger, settings, stopped } = this.#options
    const token = bundle?.joinToken ?? settings.joinToken
    const { name = settings.name, labels = settings.labels } = bundle ?? {}
    if (token === undefined) return undefined
    const address = this.#address
    const identity = await enrol({ address, token, name, labels, logger, stopped })
    if (identity === undefined) return undefined
    await this.#identityFile.save(identity)
    logger.info({ nodeId: identity.nodeId, name }, 'joined')
    return identity
  }

  #takeUpdate(update: Update): void {
    const reading = readUpdate(update, this.#versions?.running)
    switch (reading.kind) {
      case 'candidate':
        this.#versions?.offer(reading.candidate)
        break
      case 'full-needed':
        this.#link?.send({ $case: 'full', value: {} })
        break
      case 'refused':
        this.#versions?.refuse(update.version, update.hash, reading.problem)
        break
    }
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
}

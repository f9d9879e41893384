/**
 * The link to the control plane: keeps one session open for as long as the node lives, dials again with
 * jitter, and hands on what comes. What a version is and how it is applied is no business of this folder.
 */
import { type Client, connectivityState } from '@grpc/grpc-js'
import type { CounterBatch, LogBatch, LogRaise, Renewal, Standing, Update } from '@sluice/proto'
import { FleetServiceClient, TelemetryServiceClient } from '@sluice/proto/services'
import type { Logger } from 'pino'
import { type Address, formatAddress } from '../address.ts'
import { reasonOf } from '../errors.ts'
import { limits } from '../limits.ts'
import { BackOff } from './back-off.ts'
import { CertificateRenewal } from './certificate-renewal.ts'
import { channelOptions, isContentRefused, mutualTrust, refusalOf, statusText } from './channel.ts'
import {
  ConfigurationStream,
  type ConfigureMessage,
  type StreamEnd,
} from './configuration-stream.ts'
import { expiredAt, type Identity, type IdentityFile } from './identity.ts'
import { sleep } from './sleep.ts'
import { TelemetryStream } from './telemetry-stream.ts'

export interface ControlLinkOptions {
  readonly address: Address
  readonly identity: Identity
  readonly identityFile: IdentityFile
  readonly bootId: string
  readonly softwareVersion: string
  readonly workers: number
  readonly logger: Logger
  /** What the node runs at this moment. */
  readonly running: () => { version: bigint; hash: string; appliedAtMs: number } | undefined
  readonly onUpdate: (update: Update) => void
  /** A new identity, after the control plane no longer accepts this one; undefined: there is no way to get one. */
  readonly joinAgain: () => Promise<Identity | undefined>
  readonly onStanding: (standing: Standing) => void
  readonly onLogRaise: (raise: LogRaise) => void
  readonly onTelemetryOpen: () => void
  /** With the reason, when the control plane has refused what was sent. */
  readonly onTelemetryClosed: (refusal: string | undefined) => void
  readonly onCountersStored: (bootId: string, sequence: bigint) => void
  readonly onLogsStored: (bootId: string, sequence: bigint) => void
}

/**
 * What this software can do beyond the first release. A field of a resource that older software would pass
 * over has its name here and in the control plane's model/features.ts.
 */
const FEATURES: readonly string[] = [
  'delta',
  'proxy-protocol',
  'drain',
  'log-raise',
  'health-check',
  'slow-start',
]

export class ControlLink {
  readonly #options: ControlLinkOptions
  readonly #stopping = new AbortController()
  readonly #backOff = new BackOff()
  #identity: Identity
  #configuration: ConfigurationStream | undefined
  #telemetry: TelemetryStream | undefined
  #isConnected = false
  #isRenewed = false
  #hasJoinedAgain = false
  #problem: string | undefined
  #finished: Promise<void> | undefined

  constructor(options: ControlLinkOptions) {
    this.#options = options
    this.#identity = options.identity
  }

  get nodeId(): string {
    return this.#identity.nodeId
  }

  get isConnected(): boolean {
    return this.#isConnected
  }

  /** Why there is no connection, for operators; undefined while there is one. */
  get problem(): string | undefined {
    return this.#problem
  }

  /** Batches can be sent. */
  get isOpen(): boolean {
    return this.#telemetry !== undefined
  }

  start(): void {
    this.#finished = this.#run()
  }

  /** Ends the streams in order; bounded. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#telemetry?.end()
    await this.#configuration?.end()
    await this.#finished
  }

  send(message: ConfigureMessage): void {
    if (this.#isConnected) this.#configuration?.send(message)
  }

  sendCounters(batch: CounterBatch): void {
    this.#telemetry?.sendCounters(batch)
  }

  sendLogs(batch: LogBatch): void {
    this.#telemetry?.sendLogs(batch)
  }

  async #run(): Promise<void> {
    const stopped = this.#stopping.signal
    while (!stopped.aborted) {
      this.#isRenewed = false
      const beganAtMs = performance.now()
      const end = await this.#session()
      if (stopped.aborted) return
      if (this.#isRenewed) continue
      if (performance.now() - beganAtMs > limits.reconnectCapMs) this.#backOff.reset()
      this.#tellProblem(end)
      if (refusalOf(end) === 'unknown' && (await this.#joinAgain())) continue
      const isRefused = refusalOf(end) !== undefined
      await sleep(isRefused ? this.#backOff.refusedDelayMs() : this.#backOff.nextDelayMs(), stopped)
    }
  }

  /** Once: a token that was refused will be again. */
  async #joinAgain(): Promise<boolean> {
    if (this.#hasJoinedAgain) return false
    this.#hasJoinedAgain = true
    const identity = await this.#options.joinAgain()
    this.#identity = identity ?? this.#identity
    return identity !== undefined
  }

  /** From the dial to the end of the configuration stream. */
  async #session(): Promise<StreamEnd> {
    const { host, port } = this.#options.address
    const target = formatAddress(host, port)
    const trust = mutualTrust(this.#identity)
    const client = new FleetServiceClient(target, trust, channelOptions)
    try {
      return await this.#serve(client)
    } finally {
      client.close()
    }
  }

  async #serve(client: FleetServiceClient): Promise<StreamEnd> {
    const { identity, logger } = { identity: this.#identity, logger: this.#options.logger }
    const over = new AbortController()
    let reporting: Promise<void> | undefined
    const renewal = new CertificateRenewal({
      identity,
      logger,
      request: (csrPem) => stream.send({ $case: 'renewal', value: { csrPem } }),
    })
    const stream = new ConfigurationStream(client.configure(), this.#hello(), {
      onAccepted: () => {
        this.#connected()
        reporting = this.#report(client, over.signal)
      },
      onUpdate: (update) => this.#options.onUpdate(update),
      onStanding: (standing) => this.#options.onStanding(standing),
      onLogRaise: (raise) => this.#options.onLogRaise(raise),
      onRenewal: (answer) => void this.#renew(renewal, answer),
    })
    this.#configuration = stream
    watchDial(client, stream)
    const end = await stream.ended
    renewal.stop()
    over.abort()
    this.#configuration = undefined
    this.#isConnected = false
    await this.#telemetry?.end()
    await reporting
    return end
  }

  /** Keeps a telemetry stream open beside the configuration stream. */
  async #report(client: FleetServiceClient, over: AbortSignal): Promise<void> {
    const { host, port } = this.#options.address
    const telemetryClient = new TelemetryServiceClient(
      formatAddress(host, port),
      mutualTrust(this.#identity),
      { channelOverride: client.getChannel() },
    )
    const { onCountersStored, onLogsStored, onTelemetryOpen, onTelemetryClosed } = this.#options
    const backOff = new BackOff()
    while (!over.aborted && !this.#stopping.signal.aborted) {
      const stream = new TelemetryStream(telemetryClient.report(), {
        onCountersStored,
        onLogsStored,
      })
      this.#telemetry = stream
      onTelemetryOpen()
      const end = await stream.ended
      this.#telemetry = undefined
      onTelemetryClosed(isContentRefused(end) ? statusText(end) : undefined)
      if (over.aborted || this.#stopping.signal.aborted) return
      this.#options.logger.debug({ reason: statusText(end) }, 'the telemetry stream ended')
      await sleep(backOff.nextDelayMs(), over)
    }
  }

  #hello() {
    const { bootId, softwareVersion, workers } = this.#options
    const running = this.#options.running()
    return {
      nodeId: this.#identity.nodeId,
      bootId,
      softwareVersion,
      features: [...FEATURES],
      version: running?.version ?? 0n,
      hash: running?.hash ?? '',
      workers,
      timeMs: BigInt(Date.now()),
      appliedAtMs: BigInt(running?.appliedAtMs ?? 0),
      uptimeMs: BigInt(Math.round(process.uptime() * 1_000)),
    }
  }

  #connected(): void {
    this.#isConnected = true
    this.#problem = undefined
    const { address, logger } = this.#options
    const controlPlane = formatAddress(address.host, address.port)
    logger.info({ controlPlane, nodeId: this.nodeId }, 'connected to the control plane')
  }

  /** Once for each reason, however often it is tried again. */
  #tellProblem(end: StreamEnd): void {
    const text = problemOf(end, this.#identity)
    if (text === this.#problem) return
    this.#problem = text
    const { logger } = this.#options
    if (refusalOf(end) === undefined) logger.warn({ reason: text }, 'no control plane')
    else
      logger.error({ reason: text }, 'the control plane refuses this node, which goes on serving')
  }

  async #renew(renewal: CertificateRenewal, answer: Renewal): Promise<void> {
    const renewed = renewal.take(answer)
    if (renewed === undefined) return
    const { identityFile, logger } = this.#options
    try {
      await identityFile.save(renewed)
    } catch (error) {
      logger.error({ reason: reasonOf(error) }, 'the renewed certificate could not be stored')
      return
    }
    this.#identity = renewed
    logger.info('the node certificate was renewed')
    // The streams go on with the new certificate.
    this.#isRenewed = true
    await this.#configuration?.end()
  }
}

function problemOf(end: StreamEnd, identity: Identity): string {
  const text = statusText(end)
  switch (refusalOf(end)) {
    case 'revoked':
      return `this node was revoked: ${text}`
    case 'unknown': {
      const expired = expiredAt(identity, Date.now())
      if (expired !== undefined) {
        return `this node's certificate expired on ${expired.toISOString()}: start it with a new join token or bundle, and it joins again under its name`
      }
      return `the control plane does not accept this node's certificate: ${text}`
    }
    case undefined:
      return text
  }
}

/** A failed dial ends the stream with its reason; one that hangs is cut off here. */
function watchDial(client: Client, stream: ConfigurationStream): void {
  const channel = client.getChannel()
  const deadline = Date.now() + limits.connectTimeoutMs
  const look = () => {
    const state = channel.getConnectivityState(false)
    if (state === connectivityState.READY) return stream.awaitAnswer()
    if (state === connectivityState.SHUTDOWN) return undefined
    return channel.watchConnectivityState(state, deadline, (error) => {
      if (error === undefined) look()
      else stream.cancel()
    })
  }
  look()
}

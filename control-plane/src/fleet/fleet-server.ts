/** The gRPC server that nodes speak to: enrolment without a certificate, and the two streams with one. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import {
  Server,
  type ServerOptions,
  type ServerUnaryCall,
  type sendUnaryData,
  setLogger,
  status,
} from '@grpc/grpc-js'
import type { ConfigureRequest, EnrolRequest, EnrolResponse } from '@sluice/proto'
import type { CertificateAuthority } from '../certificates/authority.ts'
import type { VersionSource } from '../publishing/published-version.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'
import { Admission, type AdmissionOptions, type Lane } from './admission.ts'
import { ByteBudget } from './byte-budget.ts'
import { ConfigureSession } from './configure-session.ts'
import { Enrolment } from './enrolment.ts'
import { FleetCredentials } from './fleet-credentials.ts'
import type { FleetLog } from './fleet-log.ts'
import { FleetRefusal, invalid } from './fleet-refusal.ts'
import type { HistoryGuard } from './history-guard.ts'
import type { JoinTokens } from './join-tokens.ts'
import { LargeUpdates } from './large-updates.ts'
import { type FleetTimings, fleetTimings, fleetLimits as limits } from './limits.ts'
import type { LogRaises } from './log-raises.ts'
import type { NodeRegistry } from './node-registry.ts'
import { type NodeCall, NodeStream } from './node-stream.ts'
import { identify, type PeerNode } from './peer-identity.ts'
import { ReportStream } from './report-stream.ts'
import {
  type Decoded,
  enrolmentDefinition,
  fleetDefinition,
  telemetryDefinition,
} from './service-definitions.ts'
import { Sessions } from './sessions.ts'
import { TokenBucket } from './token-bucket.ts'
import { UpdateFrames } from './update-frames.ts'

export interface FleetServerOptions {
  readonly versions: VersionSource
  readonly authority: CertificateAuthority
  readonly registry: NodeRegistry
  readonly history: HistoryGuard
  readonly logRaises: LogRaises
  readonly tokens: JoinTokens
  readonly telemetry: Pick<Telemetry, 'storeCounters' | 'storeLogs'>
  readonly log: FleetLog
  readonly now: () => number
  /** More DNS names and IP addresses for the server's certificate. */
  readonly serverNames?: readonly string[]
  readonly timings?: Partial<FleetTimings>
  readonly admission?: Partial<AdmissionOptions>
}

/** The fleet server cannot listen where it should. */
export class FleetAddressError extends Error {
  override readonly name = 'FleetAddressError'
  /** The operating system's name for it, such as EADDRINUSE. */
  readonly code: string | undefined

  constructor(address: string, cause: Error) {
    super(`fleet address ${address} cannot be listened on`, { cause })
    // grpc-js wraps what it was told into a text.
    this.code = /\bE[A-Z]{3,}\b/.exec(cause.message)?.[0]
  }
}

const identityCheckedEveryMs = 12 * 3_600_000
/** Two thirds of the life of the server's certificate. */
const identityRenewedAfterMs = 60 * 86_400_000

export class FleetServer {
  readonly #options: FleetServerOptions
  readonly #timings: FleetTimings
  readonly #sessions: Sessions
  readonly #frames = new UpdateFrames()
  readonly #largeUpdates = new LargeUpdates(limits)
  readonly #decoding = new ByteBudget(limits.reportBytesDecodedMax)
  readonly #admission: Admission
  readonly #enrolment: Enrolment
  readonly #subscriptions: (() => void)[] = []
  #server: Server | undefined
  #credentials: FleetCredentials | undefined
  #identityMadeAtMs = 0
  #identityTimer: NodeJS.Timeout | undefined

  constructor(options: FleetServerOptions) {
    const { registry, now } = options
    this.#options = options
    this.#timings = { ...fleetTimings, ...options.timings }
    this.#sessions = new Sessions(registry)
    this.#admission = new Admission({
      perSecond: limits.admittedPerSecond,
      burst: limits.admittedBurst,
      waitingMax: limits.admissionsWaitingMax,
      now,
      ...options.admission,
    })
    const bucket = new TokenBucket({
      perSecond: limits.enrolmentsPerSecond,
      burst: limits.enrolmentsBurst,
      now,
    })
    this.#enrolment = new Enrolment({ ...options, bucket })
  }

  /** Listens; resolves with the address, HOST:PORT, as it was bound. */
  async start(address: string): Promise<string> {
    const { authority, versions, registry, history, logRaises, log } = this.#options
    // The library writes to stderr by itself, and what matters of it comes to us as errors anyway.
    const note = (message: unknown) => log.debug({ grpc: String(message) }, 'message of grpc-js')
    setLogger({ error: note, info: note, debug: note })
    const server = new Server(this.#serverOptions())
    server.addService(enrolmentDefinition, { enrol: this.#enrol })
    server.addService(fleetDefinition, { configure: this.#configure })
    server.addService(telemetryDefinition, { report: this.#report })
    const identity = await authority.issueFleetServer(this.#options.serverNames ?? [])
    this.#identityMadeAtMs = this.#options.now()
    this.#credentials = new FleetCredentials(authority.caPem, identity, this.#timings.handshakeMs)
    const port = await bind(server, address, this.#credentials)
    this.#server = server
    this.#identityTimer = setInterval(() => {
      this.#renewIdentity().catch((error: unknown) => {
        log.error({ err: error }, 'the certificate of the fleet server could not be renewed')
      })
    }, identityCheckedEveryMs)
    this.#subscriptions.push(
      versions.onPublished(() => this.#sessions.offerAll()),
      versions.onStageEnded(() => this.#sessions.offerAll()),
      logRaises.onChanged(() => this.#sessions.raiseLogs()),
      history.onSettled(() => this.#sessions.offerAll()),
      registry.onDraining((nodeId, isDraining) => this.#sessions.drainNode(nodeId, isDraining)),
      registry.onRevoked((nodeId) => {
        this.#sessions.endNode(nodeId, status.PERMISSION_DENIED, 'the node was revoked')
      }),
    )
    return `${address.slice(0, address.lastIndexOf(':'))}:${port}`
  }

  /** Ends all streams and stops listening; bounded in time. */
  async stop(): Promise<void> {
    const server = this.#server
    if (server === undefined) {
      return
    }
    this.#server = undefined
    clearInterval(this.#identityTimer)
    for (const unsubscribe of this.#subscriptions.splice(0)) {
      unsubscribe()
    }
    this.#admission.stop()
    this.#sessions.endAll(status.UNAVAILABLE, 'the control plane stops')
    await new Promise<void>((resolve) => {
      const timer = setTimeout(() => {
        server.forceShutdown()
        resolve()
      }, this.#timings.stopGraceMs)
      server.tryShutdown(() => {
        clearTimeout(timer)
        resolve()
      })
    })
    // Streams tell their end in a later turn, and the database may be closed after us.
    await nextTurn()
    await this.#options.registry.settled()
  }

  readonly #enrol = (
    call: ServerUnaryCall<Decoded<EnrolRequest>, EnrolResponse>,
    answer: sendUnaryData<EnrolResponse>,
  ): void => {
    call.on('error', (error) => {
      this.#options.log.debug({ err: error }, 'an enrolment ended with an error')
    })
    this.#enrolDecoded(call.request, call.getPeer()).then(
      (response) => {
        this.#options.log.info({ nodeId: response.nodeId, peer: call.getPeer() }, 'node enrolled')
        answer(null, response)
      },
      (error: unknown) => {
        if (error instanceof FleetRefusal) {
          const fields = { peer: call.getPeer(), reason: error.details }
          this.#options.log.warn(fields, 'an enrolment was refused')
          answer({ code: error.code, details: error.details })
        } else {
          this.#options.log.error({ err: error }, 'an enrolment failed')
          answer({ code: status.INTERNAL, details: 'internal error of the control plane' })
        }
      },
    )
  }

  async #enrolDecoded(decoded: Decoded<EnrolRequest>, address: string): Promise<EnrolResponse> {
    if (decoded.kind === 'malformed') {
      throw invalid('the message cannot be decoded')
    }
    return this.#enrolment.enrol(decoded.request, address)
  }

  readonly #configure = (call: NodeCall<ConfigureRequest>): void => {
    const stream = this.#wrap(call)
    this.#admit(call, stream, 'configuration')
      .then((node) => {
        const session = new ConfigureSession({
          ...this.#options,
          stream,
          node,
          sessions: this.#sessions,
          frames: this.#frames,
          largeUpdates: this.#largeUpdates,
          timings: this.#timings,
        })
        session.start()
      })
      .catch((error: unknown) => this.#refuse(stream, error))
  }

  readonly #report = (call: NodeCall<Buffer>): void => {
    const stream = this.#wrap(call)
    this.#admit(call, stream, 'reports')
      .then((node) => this.#startReport(stream, node))
      .catch((error: unknown) => this.#refuse(stream, error))
  }

  async #startReport(stream: NodeStream<Buffer>, node: PeerNode): Promise<void> {
    const { telemetry } = this.#options
    const report = new ReportStream({
      stream,
      node,
      telemetry,
      decoding: this.#decoding,
      writeMs: this.#timings.smallWriteMs,
    })
    const claim = await this.#sessions.claimReport(node.id, report)
    switch (claim) {
      case 'revoked':
        throw new FleetRefusal(status.PERMISSION_DENIED, `the node "${node.name}" is revoked`)
      case 'taken':
        throw new FleetRefusal(
          status.ALREADY_EXISTS,
          `the node "${node.name}" reports already on another stream`,
        )
      case 'admitted':
        stream.onClosed(() => this.#sessions.release(node.id, report))
        stream.accept()
        report.start()
    }
  }

  async #admit(
    call: NodeCall<unknown>,
    stream: NodeStream<unknown>,
    lane: Lane,
  ): Promise<PeerNode> {
    const { authority, registry } = this.#options
    const node = await identify(call, authority, registry)
    // After the certificate: strangers must not use up what is meant for nodes.
    switch (await this.#admission.enter(lane, () => stream.isOpen)) {
      case 'admitted':
        return node
      case 'left':
        throw new FleetRefusal(status.CANCELLED, 'the stream ended before its turn')
      case 'too-many':
        throw new FleetRefusal(
          status.UNAVAILABLE,
          'too many nodes connect at once; try again later',
        )
    }
  }

  #wrap<Request>(call: NodeCall<Request>): NodeStream<Request> {
    return new NodeStream(call, { log: this.#options.log, endGraceMs: this.#timings.endGraceMs })
  }

  #refuse(stream: NodeStream<unknown>, error: unknown): void {
    if (error instanceof FleetRefusal) {
      const fields = { peer: stream.address, reason: error.details }
      this.#options.log.warn(fields, 'a stream was refused')
    }
    stream.fail(error)
  }

  async #renewIdentity(): Promise<void> {
    const nowMs = this.#options.now()
    if (nowMs - this.#identityMadeAtMs < identityRenewedAfterMs) {
      return
    }
    const { authority, serverNames } = this.#options
    this.#credentials?.replaceIdentity(await authority.issueFleetServer(serverNames ?? []))
    this.#identityMadeAtMs = nowMs
  }

  #serverOptions(): ServerOptions {
    return {
      'grpc.max_receive_message_length': limits.requestBytesMax,
      'grpc.max_send_message_length': limits.answerBytesMax,
      'grpc.max_concurrent_streams': limits.callsPerConnectionMax,
      'grpc.keepalive_time_ms': this.#timings.pingIntervalMs,
      'grpc.keepalive_timeout_ms': this.#timings.pongDueMs,
      'grpc.max_connection_idle_ms': this.#timings.idleConnectionMs,
      'grpc.enable_channelz': 0,
    }
  }
}

function bind(server: Server, address: string, credentials: FleetCredentials): Promise<number> {
  return new Promise((resolve, reject) => {
    server.bindAsync(address, credentials, (cause, port) => {
      if (cause === null) {
        resolve(port)
        return
      }
      reject(new FleetAddressError(address, cause))
    })
  })
}

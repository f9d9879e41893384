/**
 * A node's configuration stream after its certificate was checked: hello first, then the newest version,
 * one update in flight at a time, so that what a newer one overtakes is never sent. Made by the fleet
 * server; ends with its stream.
 */
import { status } from '@grpc/grpc-js'
import type { Applied, ConfigureRequest, Hello, Rejected } from '@sluice/proto'
import type { CertificateAuthority } from '../certificates/authority.ts'
import type { VersionSource } from '../publishing/published-version.ts'
import type { VersionView } from '../publishing/version-view.ts'
import { readHello, readLoad, readProblems, readTime } from './configure-rules.ts'
import { issueNode } from './enrolment.ts'
import type { FleetLog } from './fleet-log.ts'
import { FleetRefusal, invalid } from './fleet-refusal.ts'
import type { HistoryGuard } from './history-guard.ts'
import type { LargeUpdates } from './large-updates.ts'
import { type FleetTimings, fleetLimits as limits } from './limits.ts'
import { Liveness } from './liveness.ts'
import type { LogRaises } from './log-raises.ts'
import type { NodeRegistry } from './node-registry.ts'
import type { NodeStream } from './node-stream.ts'
import type { PeerNode } from './peer-identity.ts'
import { encodeConfigure } from './service-definitions.ts'
import type { LiveSession, Sessions } from './sessions.ts'
import type { UpdateFrames, VersionStamp } from './update-frames.ts'

export interface ConfigureSessionOptions {
  readonly stream: NodeStream<ConfigureRequest>
  readonly node: PeerNode
  readonly sessions: Sessions
  readonly registry: NodeRegistry
  readonly authority: CertificateAuthority
  readonly versions: VersionSource
  readonly frames: UpdateFrames
  readonly largeUpdates: LargeUpdates
  readonly history: HistoryGuard
  readonly logRaises: LogRaises
  readonly timings: FleetTimings
  readonly log: FleetLog
}

export class ConfigureSession implements LiveSession {
  readonly #options: ConfigureSessionOptions
  readonly #stream: NodeStream<ConfigureRequest>
  readonly #liveness: Liveness
  readonly #helloTimer: NodeJS.Timeout
  /** Updates that the node may still answer, oldest first. */
  readonly #sent = new Map<bigint, string>()
  #answerTimer: NodeJS.Timeout | undefined
  #isAdmitted = false
  /** It waits to send a large update. */
  #isQueued = false
  /** Ends its turn with a large update. */
  #leaveTurn: (() => void) | undefined
  #inFlight: VersionStamp | undefined
  #lastSent: VersionStamp | undefined
  #running: VersionStamp = { version: 0n, hash: '' }
  #rejectedHash: string | undefined
  #features: ReadonlySet<string> = new Set()

  constructor(options: ConfigureSessionOptions) {
    const { stream, timings } = options
    this.#options = options
    this.#stream = stream
    this.#liveness = new Liveness(stream, timings, (timeMs) => {
      options.registry.clockRead(options.node.id, this, timeMs)
    })
    this.#helloTimer = setTimeout(() => {
      stream.end(status.DEADLINE_EXCEEDED, `hello is due within ${timings.helloDueMs / 1_000} s`)
    }, timings.helloDueMs)
  }

  start(): void {
    this.#stream.onClosed(() => this.#closed())
    this.#stream.read((request) => this.#handle(request))
  }

  end(code: status, details: string): void {
    this.#stream.end(code, details)
  }

  isAlive(): Promise<boolean> {
    return this.#liveness.check()
  }

  /** Sends the newest version, unless the node has it, refused it, or still works on another one. */
  offer(): void {
    const newest = this.#options.versions.currentFor(this.#options.node)
    if (
      newest === undefined ||
      !this.#isAdmitted ||
      !this.#stream.isOpen ||
      this.#inFlight !== undefined
    ) {
      return
    }
    const { node, frames } = this.#options
    const view = newest.viewFor(node.labels)
    const stamp = { version: newest.number, hash: view.hash }
    if (!this.#isNeeded(stamp) || this.#lacks(view) || this.#isHeldBack()) {
      return
    }
    const base = this.#features.has('delta') ? this.#running : undefined
    const frame = frames.frameOf(newest.number, view, base)
    if (frame.length >= limits.largeUpdateBytes && this.#leaveTurn === undefined) {
      this.#queue(frame.length)
      return
    }
    this.#lastSent = stamp
    if (frame.length > limits.answerBytesMax) {
      const fields = { version: Number(newest.number), bytes: frame.length }
      this.#options.log.error(fields, 'the version is too large to be sent to nodes')
      return
    }
    this.#inFlight = stamp
    this.#rememberSent(stamp)
    this.#send(frame, stamp).catch((error: unknown) => this.#stream.fail(error))
  }

  async #handle({ message }: ConfigureRequest): Promise<void> {
    if (message === undefined) {
      throw invalid('the message is empty or of an unknown kind')
    }
    if (message.$case === 'hello') {
      return this.#hello(message.value)
    }
    if (!this.#isAdmitted) {
      throw invalid(`${message.$case} came before hello`)
    }
    const { node, registry } = this.#options
    await registry.seen(node.id, this)
    switch (message.$case) {
      case 'applied':
        return this.#applied(message.value)
      case 'rejected':
        return this.#rejected(message.value)
      case 'renewal':
        return this.#renew(message.value.csrPem)
      case 'pong':
        return this.#liveness.pong(message.value.id, readTime('pong.time_ms', message.value.timeMs))
      case 'load':
        return registry.loadRead(node.id, this, readLoad(message.value))
      case 'full':
        this.#inFlight = undefined
        this.#lastSent = undefined
        this.#running = { version: 0n, hash: '' }
        return this.offer()
    }
  }

  async #hello(hello: Hello): Promise<void> {
    if (this.#isAdmitted) {
      throw invalid('hello came a second time')
    }
    const { node, sessions, registry, log } = this.#options
    const connected = readHello(hello, node.id, this.#stream.address)
    clearTimeout(this.#helloTimer)
    switch (await sessions.claimConfigure(node.id, this)) {
      case 'revoked':
        throw new FleetRefusal(status.PERMISSION_DENIED, `the node "${node.name}" is revoked`)
      case 'taken':
        throw new FleetRefusal(
          status.ALREADY_EXISTS,
          `the node "${node.name}" is connected already; does another machine use a copy of its data?`,
        )
      case 'admitted':
    }
    this.#running = { version: hello.version, hash: hello.hash }
    this.#features = new Set(connected.features)
    await this.#options.history.look(node, connected)
    this.#rejectedHash = await registry.connected(node.id, this, connected)
    if (!this.#stream.isOpen) {
      // It ended while we waited, so its goodbye came too early to count.
      this.#leave()
      return
    }
    this.#isAdmitted = true
    this.#stream.accept()
    this.#liveness.start()
    await this.#sendStanding(await registry.isDraining(node.id))
    await this.#sendLogRaise()
    log.info({ node: node.name, nodeId: node.id, address: connected.address }, 'node connected')
    this.offer()
  }

  #isNeeded(newest: VersionStamp): boolean {
    const isSame = (stamp: VersionStamp | undefined) =>
      stamp?.version === newest.version && stamp.hash === newest.hash
    return newest.hash !== this.#rejectedHash && !isSame(this.#running) && !isSame(this.#lastSent)
  }

  /** A node that runs nothing has nothing to lose. */
  #isHeldBack(): boolean {
    return this.#options.history.newestSeen !== undefined && this.#running.version > 0n
  }

  /** The registry shows what is missing. */
  #lacks(view: VersionView): boolean {
    return view.needs.some(({ feature }) => !this.#features.has(feature))
  }

  #rememberSent({ version, hash }: VersionStamp): void {
    this.#sent.delete(version)
    this.#sent.set(version, hash)
    for (const oldest of this.#sent.keys()) {
      if (this.#sent.size <= limits.sentUpdatesMax) {
        break
      }
      this.#sent.delete(oldest)
    }
  }

  /** A node that cannot drain is shown as such by its features, and goes on as it is. */
  drain(isDraining: boolean): void {
    this.#sendStanding(isDraining).catch((error: unknown) => this.#stream.fail(error))
  }

  raiseLogs(): void {
    this.#sendLogRaise().catch((error: unknown) => this.#stream.fail(error))
  }

  async #sendLogRaise(): Promise<void> {
    if (!this.#isAdmitted || !this.#features.has('log-raise')) {
      return
    }
    const message = encodeConfigure({
      $case: 'logRaise',
      value: this.#options.logRaises.for(this.#options.node.id),
    })
    await this.#stream.write(message, this.#options.timings.smallWriteMs)
  }

  async #sendStanding(draining: boolean): Promise<void> {
    if (!this.#isAdmitted || !this.#features.has('drain')) {
      return
    }
    const message = encodeConfigure({ $case: 'standing', value: { draining } })
    await this.#stream.write(message, this.#options.timings.smallWriteMs)
  }

  /** When its turn comes it sends what is the newest then. */
  #queue(bytes: number): void {
    if (this.#isQueued) {
      return
    }
    this.#isQueued = true
    this.#options.largeUpdates.enter(bytes, (leave) => {
      this.#isQueued = false
      this.#leaveTurn = leave
      this.offer()
      if (this.#inFlight === undefined) {
        this.#endTurn()
      }
    })
  }

  #endTurn(): void {
    this.#leaveTurn?.()
    this.#leaveTurn = undefined
  }

  async #send(frame: Buffer, stamp: VersionStamp): Promise<void> {
    const isWritten = await this.#stream.write(frame, this.#options.timings.updateWriteMs)
    this.#endTurn()
    if (isWritten && this.#inFlight === stamp) {
      this.#answerTimer = setTimeout(() => this.#settle(stamp), this.#options.timings.answerDueMs)
    }
  }

  /** The update no longer holds back the one after it. */
  #settle(stamp: VersionStamp): void {
    if (this.#inFlight?.version === stamp.version) {
      clearTimeout(this.#answerTimer)
      this.#inFlight = undefined
    }
    this.offer()
  }

  async #applied({ version, hash, tookMs }: Applied): Promise<void> {
    this.#assertSent('applied', version, hash)
    const { node, registry, log } = this.#options
    this.#running = { version, hash }
    this.#rejectedHash = undefined
    await registry.applied(node.id, { version: Number(version), hash, tookMs })
    log.info({ node: node.name, version: Number(version), tookMs }, 'node applied a version')
    this.#settle({ version, hash })
  }

  async #rejected(rejected: Rejected): Promise<void> {
    const { version, hash } = rejected
    this.#assertSent('rejected', version, hash)
    const { node, registry, log } = this.#options
    const problems = readProblems(rejected)
    this.#rejectedHash = hash
    await registry.rejected(node.id, { version: Number(version), hash, problems })
    log.warn({ node: node.name, version: Number(version), problems }, 'node rejected a version')
    this.#settle({ version, hash })
  }

  /** A node may also answer late for the newest version, which it was sent on the stream before. */
  #assertSent(what: string, version: bigint, hash: string): void {
    const { node, versions } = this.#options
    const newest = versions.currentFor(node)
    const isNewest = newest?.number === version && newest.viewFor(node.labels).hash === hash
    if (!isNewest && this.#sent.get(version) !== hash) {
      throw invalid(`${what}: version ${version} with this hash was not sent on this stream`)
    }
  }

  async #renew(csrPem: string): Promise<void> {
    const { node, authority, registry, timings, log } = this.#options
    const certificate = await issueNode(authority, csrPem, node.id)
    await registry.renewCertificate(node.id, node.fingerprint, certificate)
    log.info({ node: node.name, expiresAtMs: certificate.expiresAtMs }, 'node certificate renewed')
    const value = { certificatePem: certificate.certificatePem, caChainPem: authority.caPem }
    await this.#stream.write(encodeConfigure({ $case: 'renewal', value }), timings.smallWriteMs)
  }

  #closed(): void {
    clearTimeout(this.#helloTimer)
    clearTimeout(this.#answerTimer)
    this.#liveness.stop()
    if (this.#isAdmitted) {
      this.#options.log.info({ node: this.#options.node.name }, 'node disconnected')
    }
    this.#leave()
  }

  #leave(): void {
    const { node, sessions, registry, log } = this.#options
    sessions.release(node.id, this)
    registry.disconnected(node.id, this).catch((error: unknown) => {
      log.error({ err: error, node: node.name }, 'a disconnect could not be recorded')
    })
  }
}

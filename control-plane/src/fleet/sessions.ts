/**
 * The live streams of all nodes. A node has one of each kind: a second one gets the place only when the
 * session that holds it no longer answers, so a copied identity cannot push out the node that it was
 * copied from.
 */
import { status } from '@grpc/grpc-js'
import { fleetLimits as limits } from './limits.ts'
import type { NodeRegistry } from './node-registry.ts'

export interface LiveStream {
  end(code: status, details: string): void
}

export interface LiveSession extends LiveStream {
  /** A version was published. */
  offer(): void
  /** An operator wants the node to drain, or no longer. */
  drain(isDraining: boolean): void
  /** An operator wants more log lines, or no longer. */
  raiseLogs(): void
  /** Resolves with whether the node answered in time. */
  isAlive(): Promise<boolean>
}

export type Claim = 'admitted' | 'taken' | 'revoked'

export class Sessions {
  readonly #registry: NodeRegistry
  readonly #configure = new Map<string, LiveSession>()
  readonly #reports = new Map<string, LiveStream>()
  readonly #checks = new Map<string, Promise<void>>()
  #offering: NodeJS.Immediate | undefined

  constructor(registry: NodeRegistry) {
    this.#registry = registry
  }

  /** In slices, so that other work goes on meanwhile. A later call begins anew: what it offers is newer. */
  offerAll(): void {
    clearImmediate(this.#offering)
    this.#offerSome([...this.#configure.values()], 0)
  }

  #offerSome(sessions: readonly LiveSession[], from: number): void {
    const to = from + limits.offersPerTurn
    for (const session of sessions.slice(from, to)) {
      session.offer()
    }
    if (to < sessions.length) {
      this.#offering = setImmediate(() => this.#offerSome(sessions, to))
    }
  }

  claimConfigure(nodeId: string, session: LiveSession): Promise<Claim> {
    return this.#claim(nodeId, this.#configure, session)
  }

  claimReport(nodeId: string, stream: LiveStream): Promise<Claim> {
    return this.#claim(nodeId, this.#reports, stream)
  }

  release(nodeId: string, stream: LiveStream): void {
    if (this.#configure.get(nodeId) === stream) {
      this.#configure.delete(nodeId)
    }
    if (this.#reports.get(nodeId) === stream) {
      this.#reports.delete(nodeId)
    }
  }

  endNode(nodeId: string, code: status, details: string): void {
    this.#configure.get(nodeId)?.end(code, details)
    this.#reports.get(nodeId)?.end(code, details)
  }

  drainNode(nodeId: string, isDraining: boolean): void {
    this.#configure.get(nodeId)?.drain(isDraining)
  }

  raiseLogs(): void {
    for (const session of this.#configure.values()) session.raiseLogs()
  }

  endAll(code: status, details: string): void {
    for (const stream of [...this.#configure.values(), ...this.#reports.values()]) {
      stream.end(code, details)
    }
  }

  async #claim<Stream extends LiveStream>(
    nodeId: string,
    places: Map<string, Stream>,
    stream: Stream,
  ): Promise<Claim> {
    if (places.has(nodeId)) {
      await this.#endIfSilent(nodeId)
    }
    // Looked at after the wait: another one may have been faster, and operators may have acted.
    if (this.#registry.wasRevoked(nodeId)) {
      return 'revoked'
    }
    if (places.has(nodeId)) {
      return 'taken'
    }
    places.set(nodeId, stream)
    return 'admitted'
  }

  /** All that wait for the same node share one check. */
  #endIfSilent(nodeId: string): Promise<void> {
    const running = this.#checks.get(nodeId)
    if (running !== undefined) {
      return running
    }
    const check = this.#checkAlive(nodeId).finally(() => this.#checks.delete(nodeId))
    this.#checks.set(nodeId, check)
    return check
  }

  async #checkAlive(nodeId: string): Promise<void> {
    const session = this.#configure.get(nodeId)
    const report = this.#reports.get(nodeId)
    if (session !== undefined && (await session.isAlive())) {
      return
    }
    const details = 'the node did not answer and connected anew'
    for (const stream of [session, report]) {
      if (stream !== undefined) {
        stream.end(status.ABORTED, details)
        this.release(nodeId, stream)
      }
    }
  }
}
